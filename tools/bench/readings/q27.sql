-- days to deliver, and whether near a holiday
WITH holidays (day) AS (VALUES (DATE '2023-01-01'), (DATE '2023-04-07'), (DATE '2023-05-01'), (DATE '2023-12-25'), (DATE '2024-01-01'), (DATE '2024-03-29'), (DATE '2024-05-01'), (DATE '2024-12-25'), (DATE '2025-01-01'))
SELECT near, late, count(*), avg(delivered - ordered), sum(amount) FROM (
        SELECT ordered, delivered, amount, delivered - ordered > 7 AS late,
               EXISTS (SELECT 1 FROM holidays WHERE day BETWEEN ordered - 3 AND ordered + 3) AS near FROM orders) AS x GROUP BY 1, 2 ORDER BY 1, 2
