-- revenue of a sku by jsonb_to_recordset
SELECT l.sku, sum(l.qty) AS qty, sum(l.qty * l.price) AS revenue, count(*) FILTER (WHERE l.gift) AS gifts
FROM orders o, jsonb_to_recordset(o.items::jsonb) AS l(sku text, qty integer, price numeric, gift boolean)
GROUP BY l.sku ORDER BY revenue DESC, l.sku LIMIT 20
