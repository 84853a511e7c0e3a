-- customers who never wrote and never had an order unpaid
SELECT segment, count(*), min(joined) FROM customers WHERE customer NOT IN (SELECT customer FROM notes WHERE customer IS NOT NULL)
OR NOT EXISTS (SELECT 1 FROM orders AS o WHERE o.customer = customers.customer AND NOT o.paid) GROUP BY segment ORDER BY segment
