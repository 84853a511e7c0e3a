-- the nearest server of each player
SELECT code, count(*) AS n, avg(km) AS km, max(km) AS far FROM (
  SELECT DISTINCT ON (p.id) p.id, s.code, 2 * 6371 * asin(least(1, sqrt(sin(radians(s.lat - p.lat) / 2) ^ 2 + cos(radians(p.lat)) * cos(radians(s.lat)) * sin(radians(s.lon - p.lon) / 2) ^ 2))) AS km FROM players p CROSS JOIN servers s ORDER BY p.id, 3, s.code) x
GROUP BY code ORDER BY code
