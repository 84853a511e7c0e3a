-- cumulative distribution of delays
SELECT count(*), sum(c), sum(p) FROM (SELECT cume_dist() OVER (PARTITION BY carrier ORDER BY delay) AS c, percent_rank() OVER (PARTITION BY carrier ORDER BY delay) AS p FROM flights WHERE delay IS NOT NULL) AS x
