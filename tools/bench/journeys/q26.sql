-- log returns
SELECT sym, stddev_samp(r) AS v, count(r) FROM (SELECT sym, ln(price::double precision) - ln(lag(price::double precision) OVER (PARTITION BY sym ORDER BY ts, id)) AS r FROM trades) AS x GROUP BY sym ORDER BY v DESC, sym LIMIT 10
