-- sum v1 by id1
SELECT count(*), sum(v1) FROM (
        SELECT id1, sum(v1) AS v1 FROM g1 GROUP BY id1) AS ans
