-- values cut off at percentiles of their group, then scaled to its range
WITH q AS (SELECT map, percentile_cont(0.05) WITHIN GROUP (ORDER BY damage) AS lo, percentile_cont(0.95) WITHIN GROUP (ORDER BY damage) AS hi FROM plays GROUP BY map)
SELECT map, avg(w) AS w, stddev_pop(w) AS s, avg((w - lo) / (hi - lo)) AS scaled, corr(w, kills) AS r FROM (SELECT map, kills, lo, hi, CASE WHEN damage < lo THEN lo WHEN damage > hi THEN hi ELSE damage END AS w FROM plays JOIN q USING (map)) x GROUP BY map ORDER BY map
