-- what a BI tool asks: top groups joined back, others folded
WITH top AS (SELECT coupon FROM orders WHERE coupon IS NOT NULL GROUP BY coupon ORDER BY sum(amount) DESC, coupon LIMIT 10)
SELECT CASE WHEN t.coupon IS NULL THEN 'Other' ELSE o.coupon END AS coupon, extract(year FROM o.placed)::integer AS y, count(*) AS n, sum(o.amount) AS s FROM orders o LEFT JOIN top t ON o.coupon = t.coupon GROUP BY 1, 2 ORDER BY 1, 2
