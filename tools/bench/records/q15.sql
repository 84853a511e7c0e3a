-- products bought together
WITH l AS (SELECT DISTINCT id, json_array_elements(items)->>'sku' AS sku FROM orders)
SELECT a.sku AS x, b.sku AS y, count(*) AS n FROM l a JOIN l b ON a.id = b.id AND a.sku < b.sku GROUP BY a.sku, b.sku HAVING count(*) > 2 ORDER BY n DESC, x, y LIMIT 20
