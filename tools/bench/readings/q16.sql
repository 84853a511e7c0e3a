-- pairs of products that the same customer bought within a month
SELECT a.product AS p, b.product AS q, count(*) AS n FROM orders AS a JOIN orders AS b
ON a.customer = b.customer AND a.product < b.product AND b.ordered BETWEEN a.ordered AND a.ordered + 30
WHERE a.channel = 'store' AND b.channel = 'phone' GROUP BY 1, 2 ORDER BY n DESC, p, q LIMIT 20
