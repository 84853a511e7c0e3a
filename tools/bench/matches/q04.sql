-- a calendar of days and maps, days without plays as zero, a week's mean
WITH days AS (SELECT d::date AS day FROM generate_series(TIMESTAMP '2024-02-25', TIMESTAMP '2024-09-01', INTERVAL '1 day') AS g (d)),
     maps AS (SELECT DISTINCT map FROM plays),
     n AS (SELECT started::date AS day, map, count(*) AS plays, count(DISTINCT player) AS players FROM plays WHERE hero <> 'hero 0' GROUP BY 1, 2)
SELECT day, map, coalesce(plays, 0) AS plays, coalesce(players, 0) AS players,
       avg(coalesce(plays, 0)) OVER (PARTITION BY map ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week,
       coalesce(plays, 0) - lag(coalesce(plays, 0), 7, 0::bigint) OVER (PARTITION BY map ORDER BY day) AS change
FROM days CROSS JOIN maps LEFT JOIN n USING (day, map) ORDER BY map, day
