-- latest value of each test a patient, pivoted
WITH l AS (SELECT patient, test, value, row_number() OVER (PARTITION BY patient, test ORDER BY taken DESC, id) AS rn FROM labs WHERE value IS NOT NULL),
p AS (SELECT patient, max(value) FILTER (WHERE test = 'glucose') AS glucose, max(value) FILTER (WHERE test = 'crp') AS crp, max(CASE WHEN test = 'hb' THEN value END) AS hb, max(CASE WHEN test = 'sodium' THEN value END) AS sodium FROM l WHERE rn = 1 GROUP BY patient)
SELECT count(*), avg(glucose) AS g, avg(crp) AS c, avg(hb) AS h, corr(glucose, crp) AS r, sum(CASE WHEN glucose IS NULL THEN 1 ELSE 0 END) AS missing FROM p
