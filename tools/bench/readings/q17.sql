-- the three best products of a category, with ties
SELECT category, product, sold, r FROM (
        SELECT category, product, sold, rank() OVER (PARTITION BY category ORDER BY sold DESC) AS r FROM (
                SELECT p.category, p.product, sum(o.quantity) AS sold FROM orders AS o JOIN products AS p ON p.product = o.product GROUP BY 1, 2) AS x) AS y
WHERE r <= 3 ORDER BY category, r, product
