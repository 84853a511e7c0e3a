-- a materialized common table, asked three times
WITH d AS MATERIALIZED (SELECT player, hero, count(*) AS n, avg(damage) AS a FROM plays GROUP BY player, hero), t AS (SELECT player, sum(n) AS n FROM d GROUP BY player)
SELECT count(*) AS k, sum(d.n * 1.0 / t.n) AS share, sum((d.n * 1.0 / t.n) ^ 2) AS hhi, -sum(d.n * 1.0 / t.n * ln(d.n * 1.0 / t.n)) AS entropy, max(m.a) AS a FROM d JOIN t USING (player) JOIN (SELECT hero, max(a) AS a FROM d GROUP BY hero) m USING (hero)
