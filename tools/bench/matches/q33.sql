-- a balanced sample: as many of the common label as of the rare one
WITH r AS (SELECT *, row_number() OVER (PARTITION BY label ORDER BY id * 40503 % 65537, id) AS k, count(*) OVER (PARTITION BY label) AS size FROM measures)
SELECT label, count(*) AS n, sum(m1) AS m1, avg(m2) AS m2, min(id) AS i, max(k) AS k FROM r WHERE k <= (SELECT count(*) FROM measures WHERE label = 1) GROUP BY label ORDER BY label
