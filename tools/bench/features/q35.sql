-- pairs of items that users had one after the other
SELECT a, b, count(*) FROM (SELECT item_id % 100 AS a, lead(item_id % 100) OVER (PARTITION BY user_id ORDER BY ts, id) AS b FROM events) AS p
WHERE b IS NOT NULL GROUP BY a, b ORDER BY count(*) DESC, a, b LIMIT 20
