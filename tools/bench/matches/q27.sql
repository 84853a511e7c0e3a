-- the last five heroes, newest first
SELECT h[1] AS last, count(*) AS n, count(DISTINCT array_to_string(h, '>')) AS paths, sum(CASE WHEN h[1] = h[2] THEN 1 ELSE 0 END) AS same, max(cardinality(h)) AS c, min(array_to_string(h[2:3], '-')) AS m
FROM (SELECT player, (array_agg(hero ORDER BY started DESC, id DESC))[1:5] AS h FROM plays GROUP BY player) x GROUP BY 1 ORDER BY 1
