-- sums so far by customer and category
SELECT count(*), sum(c), max(n) FROM (
        SELECT sum(o.amount) OVER w AS c, count(*) OVER w AS n FROM orders AS o JOIN products AS p USING (product)
        WINDOW w AS (PARTITION BY o.customer, p.category ORDER BY o.ordered, o.order_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS ans
