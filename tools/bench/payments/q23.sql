-- autocorrelation of daily totals, lags of one to seven
WITH d AS (SELECT merchant % 200 AS chain, paid::date AS day, sum(amount)::double precision AS x FROM payments GROUP BY chain, day),
l AS (SELECT chain, x, lag(x, 1) OVER w AS l1, lag(x, 2) OVER w AS l2, lag(x, 3) OVER w AS l3, lag(x, 4) OVER w AS l4, lag(x, 5) OVER w AS l5, lag(x, 6) OVER w AS l6, lag(x, 7) OVER w AS l7 FROM d WINDOW w AS (PARTITION BY chain ORDER BY day))
SELECT chain, corr(x, l1) AS a1, corr(x, l2) AS a2, corr(x, l3) AS a3, corr(x, l4) AS a4, corr(x, l5) AS a5, corr(x, l6) AS a6, corr(x, l7) AS a7 FROM l GROUP BY chain ORDER BY chain
