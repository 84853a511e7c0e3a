-- a week before, without the row itself, by named windows
SELECT count(*) AS n, sum(a) AS a, sum(b) AS b, sum(c) AS c, max(d) AS d, sum(e) AS e FROM (
  SELECT avg(damage) OVER w AS a, count(*) OVER w AS b, sum(kills) OVER w AS c, max(score) OVER w AS d, min(seconds) OVER w AS e FROM plays
  WINDOW w AS (PARTITION BY player ORDER BY started RANGE BETWEEN INTERVAL '7 days' PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW)) x
