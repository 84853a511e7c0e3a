-- drift: the stability index of scores between months
WITH b AS (SELECT extract(month FROM paid)::integer AS month, floor(score)::integer AS bin, count(*)::double precision AS n FROM payments WHERE score IS NOT NULL GROUP BY 1, 2),
s AS (SELECT month, bin, n / sum(n) OVER (PARTITION BY month) AS p FROM b)
SELECT c.month, sum((c.p - o.p) * ln(c.p / o.p)) AS psi, max(abs(c.p - o.p)) AS worst FROM s c JOIN s o ON o.bin = c.bin AND o.month = 1 GROUP BY c.month ORDER BY c.month
