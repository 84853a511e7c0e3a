-- subtotals of country, segment and year
SELECT country, segment, y, count(*), sum(amount), avg(quantity) FROM (
        SELECT c.country, c.segment, extract(year FROM o.ordered) AS y, o.amount, o.quantity FROM orders AS o JOIN customers AS c USING (customer)) AS x
GROUP BY ROLLUP (country, segment, y) ORDER BY 1, 2, 3, 4
