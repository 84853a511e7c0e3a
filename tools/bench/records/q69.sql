-- what an ORM asks: a page of distinct parents with children's counts
SELECT DISTINCT c.id, c.name, c.email, (SELECT COUNT(*) AS cnt FROM orders o0 WHERE o0.customer = c.id AND o0.status IN ('open', 'returned')) AS open, COALESCE(agg.total, 0) AS total FROM customers c INNER JOIN orders o1 ON o1.customer = c.id
LEFT OUTER JOIN (SELECT o2.customer, SUM(o2.amount) AS total FROM orders o2 GROUP BY o2.customer) agg ON agg.customer = c.id WHERE o1.amount > 450 AND UPPER(c.email) LIKE UPPER('%web.de') ORDER BY total DESC, c.id LIMIT 25 OFFSET 50
