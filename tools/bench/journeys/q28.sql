-- price buckets
SELECT floor(price / 2.5) AS b, count(*), sum(size), avg(price) FROM trades GROUP BY 1 ORDER BY 1
