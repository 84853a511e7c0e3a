-- a join of eight tables
SELECT c.segment, p.path, count(*) AS n, sum(o.amount) AS s, count(DISTINCT st.ward) AS wards, max(ch.moment) AS last FROM orders o
JOIN customers c ON c.id = o.customer JOIN products p ON p.sku = 'P' || (o.id % 3000) LEFT JOIN subscriptions s ON s.customer = c.id AND s.plan = 'pro' LEFT JOIN stays st ON st.patient = c.id AND st.ward < 'W3' LEFT JOIN changes ch ON ch.ticket = o.id AND ch.state = 'closed'
JOIN prices pr ON pr.sku = p.sku AND pr.valid_from <= o.placed::date AND coalesce(pr.valid_to, DATE '9999-01-01') > o.placed::date LEFT JOIN parts pa ON pa.child = c.id
WHERE o.status <> 'cancelled' GROUP BY 1, 2 ORDER BY s DESC, 1, 2 LIMIT 30
