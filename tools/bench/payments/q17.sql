-- streaks of days with payments
WITH d AS (SELECT DISTINCT card, paid::date AS day FROM payments),
g AS (SELECT card, day, day - (row_number() OVER (PARTITION BY card ORDER BY day))::integer AS island FROM d),
s AS (SELECT card, island, count(*) AS days, min(day) AS from_, max(day) AS to_ FROM g GROUP BY card, island)
SELECT days, count(*) AS streaks, count(DISTINCT card) AS cards, min(from_) AS first, max(to_) AS last FROM s GROUP BY days ORDER BY days
