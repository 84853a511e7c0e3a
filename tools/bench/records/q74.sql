-- share of customers that came back, by days between
WITH g AS (SELECT customer, placed::date - lag(placed::date) OVER (PARTITION BY customer ORDER BY placed) AS gap FROM orders)
SELECT width, count(*) AS n, avg(gap) AS mean FROM (SELECT gap, CASE WHEN gap <= 1 THEN '0-1' WHEN gap <= 7 THEN '2-7' WHEN gap <= 30 THEN '8-30' WHEN gap <= 90 THEN '31-90' ELSE '91+' END AS width FROM g WHERE gap IS NOT NULL) x GROUP BY width ORDER BY mean
