-- distances between consecutive payments, and speeds
WITH s AS (SELECT card, paid, lat, lon, lag(lat) OVER w AS lat0, lag(lon) OVER w AS lon0, lag(paid) OVER w AS at0 FROM payments WINDOW w AS (PARTITION BY card ORDER BY paid, id)),
d AS (
  SELECT card, 2 * 6371 * asin(sqrt(power(sin(radians(lat - lat0) / 2), 2) + cos(radians(lat0)) * cos(radians(lat)) * power(sin(radians(lon - lon0) / 2), 2))) AS km, extract(epoch FROM paid - at0) / 3600 AS h FROM s WHERE lat0 IS NOT NULL)
SELECT CASE WHEN km / nullif(h, 0) > 800 THEN 'jet' WHEN km / nullif(h, 0) > 120 THEN 'train' ELSE 'foot' END AS speed, count(*) AS n, avg(km) AS km, max(km) AS far, count(DISTINCT card) AS cards FROM d GROUP BY speed ORDER BY speed
