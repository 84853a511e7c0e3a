-- way, speed and turn between a player's places
SELECT count(*) AS n, sum(d) AS d, avg(d / nullif(t, 0)) AS v, avg(abs(degrees(atan2(dy, dx)))) AS turn, max(d) AS most FROM (
  SELECT sqrt((x - lag(x) OVER w) ^ 2 + (y - lag(y) OVER w) ^ 2) AS d, extract(epoch FROM started - lag(started) OVER w) AS t, x - lag(x) OVER w AS dx, y - lag(y) OVER w AS dy FROM plays WINDOW w AS (PARTITION BY player ORDER BY started, id)) z
