-- every day, with none or more events
SELECT count(*), sum(n), max(s) FROM (
        SELECT d, coalesce(x.n, 0) AS n, coalesce(x.s, 0) AS s
        FROM generate_series(TIMESTAMP '2024-12-01 00:00:00', TIMESTAMP '2026-01-31 00:00:00', INTERVAL '1 day') AS days (d)
        LEFT JOIN (SELECT date_trunc('day', ts) AS day, count(*) AS n, sum(price) AS s FROM events GROUP BY 1) AS x ON x.day = d) AS ans
