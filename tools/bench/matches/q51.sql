-- the last purchase before each play, by LATERAL
SELECT kind, count(*) AS n, avg(damage) AS d, avg(since) AS since FROM (
  SELECT p.damage, t.sku, extract(epoch FROM p.started AT TIME ZONE 'UTC' - t.bought) AS since FROM plays p LEFT JOIN LATERAL (SELECT sku, bought FROM purchases b WHERE b.player = p.player AND b.bought < p.started AT TIME ZONE 'UTC' ORDER BY bought DESC LIMIT 1) t ON true) x
LEFT JOIN items USING (sku) GROUP BY kind ORDER BY kind
