-- customers active a day, by subscriptions' validity
SELECT c.d::date AS day, count(*) AS active, count(DISTINCT s.customer) AS customers, sum(s.mrr) AS mrr FROM generate_series(TIMESTAMP '2023-01-01', TIMESTAMP '2025-01-01', INTERVAL '14 days') AS c(d)
JOIN subscriptions s ON s.starts <= c.d::date AND (s.ends IS NULL OR s.ends > c.d::date) GROUP BY 1 ORDER BY 1
