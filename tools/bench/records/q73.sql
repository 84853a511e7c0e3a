-- cumulative share, ABC classes
WITH r AS (SELECT items->0->>'sku' AS sku, sum(amount) AS s FROM orders GROUP BY 1), c AS (SELECT sku, s, sum(s) OVER (ORDER BY s DESC, sku) / sum(s) OVER () AS cum FROM r)
SELECT CASE WHEN cum <= 0.8 THEN 'A' WHEN cum <= 0.95 THEN 'B' ELSE 'C' END AS class, count(*) AS n, sum(s) AS s FROM c GROUP BY 1 ORDER BY 1
