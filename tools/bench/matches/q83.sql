-- histograms by group as arrays
SELECT map, array_to_string(array_agg(n ORDER BY bin), ',') AS histogram, (array_agg(round(n * 100.0 / total, 2) ORDER BY bin))[3] AS third, max(n) AS mode FROM (SELECT map, width_bucket(damage, 0, 6000, 12) AS bin, count(*) AS n, sum(count(*)) OVER (PARTITION BY map) AS total FROM plays GROUP BY 1, 2) x GROUP BY map ORDER BY map
