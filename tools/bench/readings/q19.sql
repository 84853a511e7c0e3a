-- a category's mean amount, smoothed, joined to each order
SELECT count(*), sum(t), min(t) FROM (
        SELECT o.order_id, (e.s + 10 * g.m) / (e.n + 10) AS t FROM orders AS o JOIN products AS p USING (product)
        JOIN (SELECT category, sum(amount)::double precision AS s, count(amount) AS n FROM orders JOIN products USING (product) GROUP BY category) AS e ON e.category = p.category
        CROSS JOIN (SELECT avg(amount)::double precision AS m FROM orders) AS g) AS ans
