-- sum v3 count by id1:id6
SELECT count(*), sum(v3), sum(n) FROM (
        SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS n FROM g1 GROUP BY id1, id2, id3, id4, id5, id6) AS ans
