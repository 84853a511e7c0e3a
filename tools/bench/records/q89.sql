-- nearest price by distance in time
SELECT count(*), sum(d) AS d FROM (SELECT o.id, min(abs(o.placed::date - p.valid_from)) AS d FROM orders o JOIN prices p ON p.sku = 'P' || (o.id % 3000) WHERE o.id % 3 = 0 GROUP BY o.id) x
