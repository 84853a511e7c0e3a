-- fifteen minutes of a site, with gaps filled by the last value known
SELECT count(*), count(t), sum(filled) FROM (
        SELECT site, slot, t, first_value(t) OVER (PARTITION BY site, g ORDER BY slot) AS filled FROM (
                SELECT s.site, b.slot, r.t, count(r.t) OVER (PARTITION BY s.site ORDER BY b.slot) AS g
                FROM (SELECT DISTINCT site FROM readings) AS s
                CROSS JOIN generate_series(TIMESTAMPTZ '2025-03-01 00:00:00+00', TIMESTAMPTZ '2025-05-10 00:00:00+00', INTERVAL '15 minutes') AS b (slot)
                LEFT JOIN (SELECT site, date_trunc('hour', ts) AS slot, avg(temp) AS t FROM readings WHERE status = 16 GROUP BY 1, 2) AS r
                ON r.site = s.site AND r.slot = b.slot) AS x) AS ans
