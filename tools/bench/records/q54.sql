-- ages, weekdays and zones
SELECT extract(year FROM age(DATE '2025-01-01', birth))::integer AS age, extract(isodow FROM signup)::integer AS dow, extract(week FROM signup)::integer % 4 AS w, count(*), min(signup + INTERVAL '1 month') AS due FROM customers GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT 100
