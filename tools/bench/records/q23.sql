-- median and quartiles by group
SELECT test, unit, percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS med, percentile_cont(0.25) WITHIN GROUP (ORDER BY value) AS q1, percentile_cont(0.75) WITHIN GROUP (ORDER BY value) AS q3, percentile_disc(0.9) WITHIN GROUP (ORDER BY value) AS p90, count(value), count(*) FROM labs GROUP BY test, unit ORDER BY test, unit
