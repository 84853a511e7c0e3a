-- bans day by day
SELECT d::date AS day, count(*) AS n, count(DISTINCT player) AS players, count(*) FILTER (WHERE reason = 'cheat') AS cheats FROM (SELECT *, unnest(generate_series(date_trunc('day', since)::timestamp, coalesce(until, since), INTERVAL '1 day')) AS d FROM bans) GROUP BY 1 ORDER BY 1
