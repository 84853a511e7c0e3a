-- the last purchase before each play, by LATERAL
SELECT kind, count(*) AS n, avg(damage) AS d, avg(since) AS since FROM (
  SELECT p.damage, t.sku, extract(epoch FROM (p.started AT TIME ZONE 'UTC') - t.bought) AS since FROM (SELECT *, started AT TIME ZONE 'UTC' AS z FROM plays) p ASOF LEFT JOIN purchases t ON t.player = p.player AND p.z > t.bought) x
LEFT JOIN items USING (sku) GROUP BY kind ORDER BY kind
