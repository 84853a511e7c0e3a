-- the commonest channel and product of a customer
SELECT count(*), min(c), max(p) FROM (SELECT customer, mode() WITHIN GROUP (ORDER BY channel) AS c, mode() WITHIN GROUP (ORDER BY product) AS p FROM orders WHERE channel = 'store' GROUP BY customer) AS ans
