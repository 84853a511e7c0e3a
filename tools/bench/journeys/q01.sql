-- delays by carrier
SELECT carrier, count(*), avg(delay), stddev_samp(delay), count(*) FILTER (WHERE delay > 15) AS late, avg(CASE WHEN cancelled THEN 1.0 ELSE 0 END) FROM flights GROUP BY carrier ORDER BY carrier
