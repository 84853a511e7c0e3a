-- median a patient and test
WITH m AS (SELECT patient, test, percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS med, mode() WITHIN GROUP (ORDER BY unit) AS unit FROM labs GROUP BY patient, test)
SELECT test, count(*), avg(med) AS a, max(med) AS b, count(*) FILTER (WHERE med > 100) AS high FROM m GROUP BY test ORDER BY test
