-- sum v1 mean v3 by id3
SELECT count(*), sum(v1), sum(v3) FROM (
        SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM g1 GROUP BY id3) AS ans
