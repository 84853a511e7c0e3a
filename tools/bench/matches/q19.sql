-- plays and purchases of a player's days, side by side
SELECT count(*) AS n, sum(coalesce(a.plays, 0)) AS plays, sum(coalesce(b.spent, 0)) AS spent, count(*) FILTER (WHERE a.player IS NULL) AS only_b, count(*) FILTER (WHERE b.player IS NULL) AS only_a, min(day) AS first, sum(player::bigint) AS s
FROM (SELECT player, started::date AS day, count(*) AS plays FROM plays GROUP BY 1, 2) a
FULL JOIN (SELECT player, (bought AT TIME ZONE 'UTC')::date AS day, sum(cents) AS spent FROM purchases GROUP BY 1, 2) b USING (player, day)
