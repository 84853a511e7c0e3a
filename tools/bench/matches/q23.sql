-- filters in windows
SELECT count(*) AS n, sum(wins) AS wins, sum(tank) AS tank, avg(good) AS good, sum(rate) AS rate FROM (
  SELECT count(*) FILTER (WHERE won) OVER w AS wins, count(*) FILTER (WHERE role = 'tank') OVER (w ROWS BETWEEN 20 PRECEDING AND 1 PRECEDING) AS tank, avg(damage) FILTER (WHERE won AND ping < 100) OVER w AS good,
         sum(kills) FILTER (WHERE map = 'ice') OVER w * 1.0 / nullif(count(*) OVER w, 0) AS rate FROM plays WINDOW w AS (PARTITION BY player ORDER BY started, id)) x
