-- slopes of a patient's values over time
WITH s AS (SELECT patient, regr_slope(value, extract(epoch FROM taken)::double precision / 86400) AS slope, regr_r2(value, extract(epoch FROM taken)::double precision / 86400) AS r2, count(value) AS n FROM labs WHERE test = 'creatinine' GROUP BY patient HAVING count(value) >= 3)
SELECT count(*), avg(slope) AS slope, max(r2) AS r2, count(*) FILTER (WHERE slope > 0.1) AS rising FROM s
