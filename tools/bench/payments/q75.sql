-- cohorts by the month of the first payment: money by months of age
WITH f AS (SELECT card, date_trunc('month', min(paid)) AS cohort FROM payments GROUP BY card)
SELECT f.cohort::date AS cohort, (date_part('month', p.paid) - date_part('month', f.cohort))::integer AS age, count(DISTINCT p.card) AS cards, sum(p.amount) AS total, sum(sum(p.amount)) OVER (PARTITION BY f.cohort ORDER BY (date_part('month', p.paid) - date_part('month', f.cohort))::integer) AS ltv
FROM payments p JOIN f ON f.card = p.card GROUP BY 1, 2, f.cohort ORDER BY 1, 2
