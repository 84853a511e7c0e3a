-- sessions by gaps of hours, and what they hold
WITH g AS (SELECT player, started, seconds, won, (started - lag(started) OVER w > INTERVAL '36 hours')::integer AS new FROM plays WINDOW w AS (PARTITION BY player ORDER BY started)),
     s AS (SELECT *, sum(coalesce(new, 1)) OVER (PARTITION BY player ORDER BY started) AS s FROM g),
     t AS (SELECT player, s, count(*) AS n, max(started) - min(started) AS length, sum(seconds) AS seconds, avg(won::integer) AS w FROM s GROUP BY player, s)
SELECT least(n, 12) AS n, count(*) AS sessions, avg(extract(epoch FROM length)) AS length, sum(seconds) AS s, avg(w) AS w, max(extract(epoch FROM length)) AS longest FROM t GROUP BY 1 ORDER BY 1
