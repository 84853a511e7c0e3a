-- means of seven days of an item
SELECT count(*), sum(m), max(m) FROM (
        SELECT avg(s) OVER (PARTITION BY item_id ORDER BY d ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS m FROM (
                SELECT item_id, ts::date AS d, sum(amount) AS s FROM events GROUP BY 1, 2) AS x) AS ans
