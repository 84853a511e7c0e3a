-- bans day by day
SELECT d::date AS day, count(*) AS n, count(DISTINCT player) AS players, count(*) FILTER (WHERE reason = 'cheat') AS cheats FROM bans CROSS JOIN LATERAL generate_series(date_trunc('day', since), coalesce(until, since), INTERVAL '1 day') AS g (d) GROUP BY 1 ORDER BY 1
