-- monthly retention of cohorts
WITH firsts AS (SELECT customer, date_trunc('month', min(placed)) AS cohort FROM orders GROUP BY customer),
act AS (SELECT DISTINCT o.customer, f.cohort, (extract(year FROM o.placed) - extract(year FROM f.cohort)) * 12 + extract(month FROM o.placed) - extract(month FROM f.cohort) AS age
        FROM orders o JOIN firsts f USING (customer))
SELECT cohort::date AS cohort, count(DISTINCT customer) FILTER (WHERE age = 0) AS m0, count(DISTINCT customer) FILTER (WHERE age = 1) AS m1, count(DISTINCT customer) FILTER (WHERE age = 3) AS m3, count(DISTINCT customer) FILTER (WHERE age = 6) AS m6
FROM act GROUP BY cohort ORDER BY cohort
