-- one row an airport and month, with zeros
SELECT count(*), sum(coalesce(n, 0)), count(n) FROM (SELECT a.code, m FROM airports AS a CROSS JOIN generate_series(1, 12) AS g (m)) AS k LEFT JOIN (SELECT dest, extract(month FROM departs)::integer AS m, count(*) AS n FROM flights WHERE delay > 100 GROUP BY 1, 2) AS f ON f.dest = k.code AND f.m = k.m
