-- correlations of pairs of names from unpivoted rows
WITH u AS (SELECT id, name, value FROM measures CROSS JOIN LATERAL (VALUES ('m1', m1), ('m2', m2), ('m3', m3), ('m4', m4)) AS v (name, value))
SELECT a.name AS x, b.name AS y, corr(a.value, b.value) AS r, count(*) AS n FROM u a JOIN u b ON a.id = b.id AND a.name < b.name GROUP BY 1, 2 ORDER BY 1, 2
