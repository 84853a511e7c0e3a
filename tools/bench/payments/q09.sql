-- winsorised by percentiles joined back
WITH b AS (SELECT country, percentile_cont(0.01) WITHIN GROUP (ORDER BY score) AS lo, percentile_cont(0.99) WITHIN GROUP (ORDER BY score) AS hi FROM payments GROUP BY country)
SELECT country, avg(greatest(b.lo, least(b.hi, p.score))) AS mean, stddev_samp(greatest(b.lo, least(b.hi, p.score))) AS sd, count(*) FILTER (WHERE score < lo OR score > hi) AS cut
FROM payments p JOIN b USING (country) GROUP BY country ORDER BY country
