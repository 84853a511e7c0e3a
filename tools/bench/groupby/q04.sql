-- mean v1:v3 by id4
SELECT count(*), sum(v1)::double precision AS v1, sum(v2)::double precision AS v2, sum(v3) AS v3 FROM (
        SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM g1 GROUP BY id4) AS ans
