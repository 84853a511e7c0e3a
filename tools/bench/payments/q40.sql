-- churn: no payment in the thirty days after a snapshot
WITH snap AS (SELECT s.day::date AS day FROM generate_series(TIMESTAMP '2024-03-01', TIMESTAMP '2024-11-01', INTERVAL '1 month') AS s (day)),
act AS (SELECT c.id AS card, s.day FROM cards c CROSS JOIN snap s WHERE EXISTS (SELECT 1 FROM payments p WHERE p.card = c.id AND p.paid >= s.day - INTERVAL '90 days' AND p.paid < s.day))
SELECT a.day, count(*) AS active, count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.card = a.card AND p.paid >= a.day AND p.paid < a.day + INTERVAL '30 days')) AS churned FROM act a GROUP BY a.day ORDER BY a.day
