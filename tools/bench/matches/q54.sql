-- stability of damage between months by the bins of the first
WITH q AS (SELECT percentile_cont(0.2) WITHIN GROUP (ORDER BY damage) AS a, percentile_cont(0.4) WITHIN GROUP (ORDER BY damage) AS b, percentile_cont(0.6) WITHIN GROUP (ORDER BY damage) AS c, percentile_cont(0.8) WITHIN GROUP (ORDER BY damage) AS d FROM plays WHERE started < TIMESTAMP '2024-04-01'),
     n AS (SELECT date_trunc('month', started)::date AS month, CASE WHEN damage < a THEN 1 WHEN damage < b THEN 2 WHEN damage < c THEN 3 WHEN damage < d THEN 4 ELSE 5 END AS bin, count(*) AS n FROM plays, q GROUP BY 1, 2),
     s AS (SELECT month, bin, n / sum(n) OVER (PARTITION BY month) AS s FROM n)
SELECT x.month, sum((x.s - y.s) * ln(x.s / y.s)) AS psi FROM s x JOIN s y ON y.bin = x.bin AND y.month = DATE '2024-03-01' GROUP BY x.month ORDER BY x.month
