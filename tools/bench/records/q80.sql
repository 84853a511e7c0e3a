-- a matrix of overlap of segments by self join of distincts
WITH p AS (SELECT DISTINCT customer, channel FROM orders WHERE channel IS NOT NULL)
SELECT a.channel AS x, b.channel AS y, count(*) AS n, round(count(*)::numeric / (count(*) + 1), 3) AS j FROM p a JOIN p b USING (customer) GROUP BY 1, 2 ORDER BY 1, 2
