-- z-scores within test and unit, winsorised
WITH q AS (SELECT test, percentile_cont(0.01) WITHIN GROUP (ORDER BY value) AS lo, percentile_cont(0.99) WITHIN GROUP (ORDER BY value) AS hi FROM labs GROUP BY test),
w AS (SELECT l.patient, l.test, least(greatest(l.value, q.lo), q.hi) AS v FROM labs l JOIN q USING (test) WHERE l.value IS NOT NULL),
z AS (SELECT patient, test, (v - avg(v) OVER (PARTITION BY test)) / stddev_pop(v) OVER (PARTITION BY test) AS z FROM w)
SELECT test, count(*) FILTER (WHERE abs(z) > 1.5) AS outliers, max(z) AS hi, min(z) AS lo FROM z GROUP BY test ORDER BY test
