-- the nearest merchant of a home
SELECT n.mcc, count(*) AS cards, avg(n.d) AS d
FROM cards c CROSS JOIN LATERAL (
  SELECT m.mcc, sqrt(power(m.lat - c.home_lat, 2) + power(m.lon - c.home_lon, 2)) AS d FROM merchants m
  WHERE m.lat BETWEEN c.home_lat - 0.2 AND c.home_lat + 0.2 AND m.lon BETWEEN c.home_lon - 0.4 AND c.home_lon + 0.4 ORDER BY d, m.id LIMIT 1) n
WHERE c.id <= 2000 GROUP BY n.mcc ORDER BY n.mcc
