-- sum v1:v3 by id6
SELECT count(*), sum(v1), sum(v2), sum(v3) FROM (
        SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM g1 GROUP BY id6) AS ans
