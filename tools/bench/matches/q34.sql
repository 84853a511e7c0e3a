-- shares of a team and of a match
SELECT count(*) AS n, sum(dshare) AS d, sum(kshare) AS k, avg(enemy) AS e, count(*) FILTER (WHERE best = 1) AS mvp, sum(gap) AS gap FROM (
  SELECT damage / nullif(sum(damage) OVER t, 0) AS dshare, kills * 1.0 / nullif(sum(kills) OVER t, 0) AS kshare, (sum(damage) OVER m - sum(damage) OVER t) / nullif(count(*) OVER m - count(*) OVER t, 0) AS enemy,
         rank() OVER (PARTITION BY match ORDER BY score DESC) AS best, max(score) OVER m - score AS gap FROM plays WINDOW m AS (PARTITION BY match), t AS (PARTITION BY match, team)) x
