-- customers who never did, three ways
SELECT (SELECT count(*) FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.status = 'returned')) AS a,
       (SELECT count(*) FROM customers c WHERE c.id NOT IN (SELECT customer FROM subscriptions)) AS b,
       (SELECT count(*) FROM customers c LEFT JOIN orders o ON o.customer = c.id AND o.coupon IS NOT NULL WHERE o.id IS NULL) AS c,
       (SELECT count(*) FROM customers c WHERE c.id <> ALL (SELECT customer FROM orders WHERE amount > 400)) AS d
