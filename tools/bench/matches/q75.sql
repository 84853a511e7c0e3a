-- sets of items bought in a day
SELECT array_to_string(skus, ' ') AS skus, count(*) AS n FROM (SELECT player, bought::date AS day, array_agg(DISTINCT sku ORDER BY sku) AS skus FROM purchases GROUP BY 1, 2) x GROUP BY skus ORDER BY n DESC, 1 LIMIT 30
