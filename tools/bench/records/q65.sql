-- codes of three columns as rows, by VALUES
SELECT substr(v.code, 1, 3) AS chapter, v.pos, count(*), count(DISTINCT s.patient) AS patients, sum(s.cost) AS cost FROM stays s CROSS JOIN LATERAL (VALUES (1, s.dx1), (2, s.dx2), (3, s.dx3)) AS v(pos, code) WHERE v.code IS NOT NULL GROUP BY 1, 2 ORDER BY patients DESC, 1, 2 LIMIT 40
