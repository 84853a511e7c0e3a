-- a table of customers as a model reads it
SELECT count(*), sum(n), sum(spent), sum(days), sum(stars), count(country), sum(weight) FROM (
        SELECT c.customer, coalesce(o.n, 0) AS n, coalesce(o.spent, 0) AS spent, DATE '2026-01-01' - c.joined AS days, n.stars, coalesce(c.country, 'none') AS country, o.weight FROM customers AS c
        LEFT JOIN (SELECT customer, count(*) AS n, sum(amount) AS spent, avg(weight) AS weight FROM orders JOIN products USING (product) GROUP BY customer) AS o ON o.customer = c.customer
        LEFT JOIN (SELECT customer, avg((meta::json ->> 'stars')::double precision) AS stars FROM notes GROUP BY customer) AS n ON n.customer = c.customer) AS ans
