-- retention: customers of a first month who order in later months
WITH firsts AS (SELECT customer, date_trunc('month', min(ordered)) AS cohort FROM orders GROUP BY customer),
     active AS (SELECT DISTINCT customer, date_trunc('month', ordered) AS month FROM orders)
SELECT cohort, (extract(year FROM month) - extract(year FROM cohort)) * 12 + extract(month FROM month) - extract(month FROM cohort) AS later, count(*)
FROM firsts JOIN active USING (customer) GROUP BY 1, 2 ORDER BY 1, 2
