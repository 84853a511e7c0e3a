-- ages in years at the time of an order, in bands
SELECT band, count(*), sum(amount), count(DISTINCT customer) FROM (
        SELECT o.customer, o.amount, CASE WHEN a < 25 THEN 'to 24' WHEN a < 45 THEN 'to 44' WHEN a < 65 THEN 'to 64' WHEN a IS NULL THEN 'unknown' ELSE 'older' END AS band FROM (
                SELECT o.customer, o.amount, extract(year FROM age(o.ordered, c.born)) AS a FROM orders AS o JOIN customers AS c ON c.customer = o.customer) AS o) AS x GROUP BY band ORDER BY band
