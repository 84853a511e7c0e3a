-- revenue of a sku by jsonb_to_recordset
SELECT l.sku, sum(l.qty) AS qty, sum(l.qty * l.price) AS revenue, count(*) FILTER (WHERE l.gift) AS gifts
FROM (SELECT unnest(from_json(items, '[{"sku":"VARCHAR","qty":"INTEGER","price":"DECIMAL(10,2)","gift":"BOOLEAN"}]')) AS l FROM orders)
GROUP BY l.sku ORDER BY revenue DESC, l.sku LIMIT 20
