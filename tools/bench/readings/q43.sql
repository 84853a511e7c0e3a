-- customers at risk: days between orders, in a text
SELECT count(*), max(gaps), sum(n) FROM (
        SELECT customer, string_agg(gap::text, ',' ORDER BY ordered, order_id) AS gaps, count(gap) AS n FROM (
                SELECT customer, ordered, order_id, ordered - lag(ordered) OVER (PARTITION BY customer ORDER BY ordered, order_id) AS gap FROM orders WHERE paid) AS x GROUP BY customer) AS ans
