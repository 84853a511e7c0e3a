-- the price valid on the day of the order, from lines in JSON
SELECT date_trunc('month', placed)::date AS m, count(*) AS n, sum((line->>'qty')::integer * p.price) AS listed, sum((line->>'qty')::integer * (line->>'price')::decimal(10,2)) AS asked
FROM (SELECT placed, unnest(items->'$[*]') AS line FROM orders) o
JOIN prices p ON p.sku = line->>'sku' AND placed::date >= p.valid_from AND (p.valid_to IS NULL OR placed::date < p.valid_to)
GROUP BY 1 ORDER BY 1
