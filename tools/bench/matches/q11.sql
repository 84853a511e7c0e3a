-- the hour where the player lives
SELECT country, extract(hour FROM bought AT TIME ZONE tz)::integer AS hour, extract(isodow FROM bought AT TIME ZONE tz) > 5 AS weekend, count(*) AS n, sum(cents) / 100.0 AS total
FROM purchases JOIN players ON players.id = player WHERE NOT refunded GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
