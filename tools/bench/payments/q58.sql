-- change from month to month on a dense calendar
WITH cal AS (SELECT m.id AS merchant, g.month::date AS month FROM merchants m CROSS JOIN generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2024-12-01', INTERVAL '1 month') AS g (month)),
s AS (SELECT merchant, date_trunc('month', paid)::date AS month, sum(amount) AS total FROM payments WHERE status = 'settled' GROUP BY 1, 2),
t AS (SELECT cal.merchant, cal.month, coalesce(s.total, 0) AS total, lag(coalesce(s.total, 0)) OVER (PARTITION BY cal.merchant ORDER BY cal.month) AS before FROM cal LEFT JOIN s ON s.merchant = cal.merchant AND s.month = cal.month)
SELECT month, count(*) AS n, avg((total - before) / nullif(before, 0)) AS change, count(*) FILTER (WHERE total = 0) AS silent, count(*) FILTER (WHERE total > 1.5 * before) AS risen FROM t GROUP BY month ORDER BY month
