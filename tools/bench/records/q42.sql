-- top three dearest orders of some customers
SELECT c.id, t.n, t.amount, t.oid FROM customers c CROSS JOIN LATERAL (SELECT o.id AS oid, o.amount, row_number() OVER (ORDER BY o.amount DESC, o.id) AS n FROM orders o WHERE o.customer = c.id ORDER BY o.amount DESC, o.id LIMIT 3) t WHERE c.segment = 'seg3' ORDER BY 1, 2 LIMIT 40
