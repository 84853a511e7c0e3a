-- three busiest routes a carrier
SELECT carrier, origin, dest, n FROM (SELECT carrier, origin, dest, count(*) AS n, rank() OVER (PARTITION BY carrier ORDER BY count(*) DESC, origin, dest) AS r FROM flights GROUP BY carrier, origin, dest) AS x WHERE r <= 3 ORDER BY carrier, n DESC, origin, dest
