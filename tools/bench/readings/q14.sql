-- recency, frequency and money, in fifths
SELECT r, f, m, count(*) FROM (
        SELECT ntile(5) OVER (ORDER BY last DESC, customer) AS r, ntile(5) OVER (ORDER BY n, customer) AS f, ntile(5) OVER (ORDER BY spent, customer) AS m FROM (
                SELECT customer, max(ordered) AS last, count(*) AS n, coalesce(sum(amount * quantity), 0) AS spent FROM orders WHERE paid GROUP BY customer) AS x) AS y
GROUP BY r, f, m ORDER BY r, f, m
