-- moving median and deviation of a test
WITH w AS (SELECT patient, taken, value, percentile_disc(0.5) WITHIN GROUP (ORDER BY value) AS d FROM labs WHERE test = 'crp' AND value IS NOT NULL GROUP BY patient, taken, value),
v AS (SELECT patient, value, avg(value) OVER p AS ma, stddev_samp(value) OVER p AS sd, corr(value, extract(epoch FROM taken)::double precision) OVER p AS r FROM w WINDOW p AS (PARTITION BY patient ORDER BY taken, value ROWS BETWEEN 4 PRECEDING AND CURRENT ROW))
SELECT count(*), avg(ma) AS a, avg(sd) AS b, count(*) FILTER (WHERE value > ma + 1.5 * sd) AS spikes FROM v
