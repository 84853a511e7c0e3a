-- share of a route in its airport
SELECT count(*), sum(s), max(s) FROM (SELECT origin, dest, count(*)::double precision / sum(count(*)) OVER (PARTITION BY origin) AS s FROM flights GROUP BY origin, dest) AS x
