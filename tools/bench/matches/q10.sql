-- quarters of an hour
SELECT date_bin(INTERVAL '15 minutes', started, TIMESTAMP '2024-03-01') AS bin, count(*) AS n, count(DISTINCT match) AS m, avg(ping) AS p, sum(kills) AS k FROM plays WHERE map IN ('dust', 'ice') GROUP BY 1 ORDER BY n DESC, bin LIMIT 40
