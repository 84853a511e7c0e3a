-- different pairs
SELECT count(*), count(channel) FROM (SELECT DISTINCT customer, product, channel FROM orders) AS x
