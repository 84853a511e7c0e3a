-- two kinds of happenings in one list, the gap between them
SELECT kind, count(*), avg(gap), max(gap) FROM (
        SELECT kind, d - lag(d) OVER (PARTITION BY customer ORDER BY d, kind, id) AS gap FROM (
                SELECT customer, ordered AS d, 'order' AS kind, order_id AS id FROM orders
                UNION ALL SELECT customer, delivered, 'delivery', order_id FROM orders WHERE delivered IS NOT NULL
                UNION ALL SELECT customer, joined, 'joined', 0 FROM customers) AS x) AS ans GROUP BY kind ORDER BY kind
