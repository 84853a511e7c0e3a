-- the first and last line of an order
SELECT items->0->>'sku' AS first, count(*) AS n, count(DISTINCT items->>'$[#-1].sku') AS others, sum(json_array_length(items)) AS lines
FROM orders GROUP BY 1 ORDER BY n DESC, 1 LIMIT 25
