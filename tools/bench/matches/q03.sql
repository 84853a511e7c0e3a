-- all combinations, only the large ones
SELECT map, role, won, count(*) AS n, grouping(map) + grouping(role) + grouping(won) AS level, stddev_samp(damage) AS s
FROM plays GROUP BY CUBE (map, role, won) HAVING count(*) > 20000 AND grouping(map, role, won) <> 7 ORDER BY level, n DESC, map, role, won
