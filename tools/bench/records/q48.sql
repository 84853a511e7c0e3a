-- several distinct counts by week
SELECT date_trunc('week', placed)::date AS week, count(DISTINCT customer) AS customers, count(DISTINCT coupon) AS coupons, count(DISTINCT channel) AS channels, count(DISTINCT (customer, channel)) AS pairs, sum(DISTINCT amount) AS d FROM orders GROUP BY 1 ORDER BY 1
