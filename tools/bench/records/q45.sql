-- set operations of customers
SELECT count(*), sum(customer) FROM ((SELECT customer FROM orders WHERE channel = 'app' INTERSECT SELECT customer FROM orders WHERE channel = 'store') EXCEPT SELECT customer FROM subscriptions WHERE plan = 'pro') x
