-- cohorts by the month of joining, kept by months since
WITH f AS (SELECT player, min(date_trunc('month', started)) AS cohort FROM plays WHERE kills > 0 GROUP BY player),
     a AS (SELECT DISTINCT player, date_trunc('month', started) AS month FROM plays WHERE kills > 0)
SELECT cohort, extract(month FROM age(month, cohort))::integer AS since, count(*) AS n, round(100.0 * count(*) / first_value(count(*)) OVER (PARTITION BY cohort ORDER BY extract(month FROM age(month, cohort))::integer), 2) AS kept
FROM a JOIN f USING (player) GROUP BY 1, 2 ORDER BY 1, 2
