-- a calendar of days left joined to counts
SELECT d::date AS day, coalesce(n, 0) AS n, coalesce(e, 0) AS errors, sum(coalesce(n, 0)) OVER (ORDER BY d) AS total
FROM generate_series(TIMESTAMP '2025-02-20', TIMESTAMP '2025-04-05', INTERVAL '1 day') AS c(d)
LEFT JOIN (SELECT substr(line, 1, 10)::date AS day, count(*) AS n, count(*) FILTER (WHERE line LIKE '%[ERROR]%') AS e FROM logs GROUP BY 1) l ON l.day = c.d::date ORDER BY 1
