-- scalar subqueries in the list
SELECT c.country, count(*) AS n, sum((SELECT count(*) FROM orders o WHERE o.customer = c.id)) AS orders, avg((SELECT max(s.mrr) FROM subscriptions s WHERE s.customer = c.id AND s.ends IS NULL)) AS mrr, max((SELECT min(o.placed)::date - c.signup FROM orders o WHERE o.customer = c.id)) AS lag
FROM customers c GROUP BY c.country ORDER BY c.country
