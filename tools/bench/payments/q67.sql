-- a spine of days with zeros, and sums of seven days
WITH spine AS (SELECT c.id AS card, g.day::date AS day FROM cards c CROSS JOIN generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2024-12-31', INTERVAL '1 day') AS g (day) WHERE c.id % 10 = 3),
d AS (SELECT card, paid::date AS day, sum(amount) AS total, count(*) AS n FROM payments WHERE card % 10 = 3 GROUP BY card, paid::date),
w AS (SELECT s.card, s.day, coalesce(d.total, 0) AS total, sum(coalesce(d.total, 0)) OVER (PARTITION BY s.card ORDER BY s.day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week, sum(coalesce(d.n, 0)) OVER (PARTITION BY s.card ORDER BY s.day ROWS BETWEEN 29 PRECEDING AND 1 PRECEDING) AS month
      FROM spine s LEFT JOIN d ON d.card = s.card AND d.day = s.day)
SELECT extract(month FROM day)::integer AS m, count(*) AS days, sum(total) AS total, max(week) AS week, avg(month) AS month, count(*) FILTER (WHERE week = 0) AS silent FROM w GROUP BY 1 ORDER BY 1
