-- sessions of a customer's orders, gaps of ten days
WITH g AS (SELECT customer, placed, amount, CASE WHEN placed - lag(placed) OVER w > INTERVAL '10 days' OR lag(placed) OVER w IS NULL THEN 1 ELSE 0 END AS fresh FROM orders WINDOW w AS (PARTITION BY customer ORDER BY placed, id)),
s AS (SELECT *, sum(fresh) OVER (PARTITION BY customer ORDER BY placed ROWS UNBOUNDED PRECEDING) AS session FROM g),
a AS (SELECT customer, session, count(*) AS n, sum(amount) AS amount, max(placed) - min(placed) AS took FROM s GROUP BY customer, session)
SELECT n, count(*), sum(amount), max(took) FROM a GROUP BY n ORDER BY n
