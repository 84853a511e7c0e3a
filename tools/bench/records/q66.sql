-- a comorbidity index from arrays
SELECT n, count(*), avg(cost) AS cost FROM (SELECT patient, sum(cost) AS cost, cardinality(array(SELECT DISTINCT substr(x, 1, 1) FROM unnest(array_agg(dx1) || array_agg(dx2)) AS u(x) WHERE x IS NOT NULL)) AS n FROM stays GROUP BY patient) t GROUP BY n ORDER BY n
