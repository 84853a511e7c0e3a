-- median and quartiles a route
SELECT count(*), sum(q1), sum(q2), sum(q3) FROM (SELECT origin, percentile_cont(0.25) WITHIN GROUP (ORDER BY delay) AS q1, percentile_cont(0.5) WITHIN GROUP (ORDER BY delay) AS q2, percentile_disc(0.9) WITHIN GROUP (ORDER BY delay) AS q3 FROM flights GROUP BY origin) AS x
