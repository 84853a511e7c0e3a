-- the last known ping carried forward, and the next known backwards
SELECT count(*) AS n, sum(f) AS f, sum(b) AS b, avg(coalesce(ping, f, b)::double precision) AS p, sum(gap) AS gap FROM (
  SELECT ping, max(ping) OVER (PARTITION BY player, k) AS f, min(ping) OVER (PARTITION BY player, r) AS b, row_number() OVER (PARTITION BY player, k ORDER BY started, id) - 1 AS gap FROM (
    SELECT *, count(ping) OVER (PARTITION BY player ORDER BY started, id) AS k, count(ping) OVER (PARTITION BY player ORDER BY started DESC, id DESC) AS r FROM plays) y) x
