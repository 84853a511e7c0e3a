-- a comorbidity index from arrays
SELECT n, count(*), avg(cost) AS cost FROM (SELECT patient, sum(cost) AS cost, len(list_distinct(list_transform(list_concat(list(dx1), list(dx2)), lambda x: substr(x, 1, 1)))) AS n FROM stays GROUP BY patient) t GROUP BY n ORDER BY n
