-- last seven days' mean delay a carrier and day
SELECT count(*), sum(m), max(m) FROM (SELECT carrier, day, avg(d) OVER (PARTITION BY carrier ORDER BY day RANGE BETWEEN INTERVAL '6 days' PRECEDING AND CURRENT ROW) AS m FROM (SELECT carrier, date_trunc('day', departs) AS day, avg(delay)::double precision AS d FROM flights GROUP BY 1, 2) AS x) AS y
