-- the price valid on the day of the order, from lines in JSON
SELECT date_trunc('month', o.placed)::date AS m, count(*) AS n, sum((l.line->>'qty')::integer * p.price) AS listed, sum((l.line->>'qty')::integer * (l.line->>'price')::numeric) AS asked
FROM orders o CROSS JOIN LATERAL json_array_elements(o.items) AS l(line)
JOIN prices p ON p.sku = l.line->>'sku' AND o.placed::date >= p.valid_from AND (p.valid_to IS NULL OR o.placed::date < p.valid_to)
GROUP BY 1 ORDER BY 1
