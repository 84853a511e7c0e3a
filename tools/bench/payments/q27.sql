-- days to the next holiday and from the last
WITH days AS (SELECT day::date AS day FROM generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2024-12-31', INTERVAL '1 day') AS g (day)),
c AS (SELECT d.day, (SELECT min(h.day) FROM holidays h WHERE h.day >= d.day) - d.day AS ahead, d.day - (SELECT max(h.day) FROM holidays h WHERE h.day <= d.day) AS behind FROM days d)
SELECT c.ahead, count(*) AS n, sum(p.amount) AS total, avg(c.behind) AS behind, count(h.name) AS on_holiday
FROM payments p JOIN c ON c.day = p.paid::date LEFT JOIN holidays h ON h.day = p.paid::date GROUP BY c.ahead ORDER BY c.ahead NULLS LAST
