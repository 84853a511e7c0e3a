-- merged spans of a customer's subscriptions
WITH s AS (SELECT customer, starts, coalesce(ends, DATE '2025-12-31') AS ends FROM subscriptions),
m AS (SELECT *, CASE WHEN starts <= max(ends) OVER (PARTITION BY customer ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 0 ELSE 1 END AS fresh FROM s),
g AS (SELECT *, sum(fresh) OVER (PARTITION BY customer ORDER BY starts, ends ROWS UNBOUNDED PRECEDING) AS grp FROM m),
r AS (SELECT customer, grp, min(starts) AS a, max(ends) AS b FROM g GROUP BY customer, grp)
SELECT count(*), count(DISTINCT customer) AS customers, sum(b - a) AS days, max(b - a) AS longest FROM r
