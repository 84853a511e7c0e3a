-- natural joins of aggregates
WITH a AS (SELECT player, map, count(*) AS n, avg(score) AS s FROM plays GROUP BY player, map), b AS (SELECT player, map, count(*) AS w FROM plays WHERE won GROUP BY player, map), c AS (SELECT player, count(*) AS said FROM chat GROUP BY player)
SELECT map, count(*) AS k, sum(n) AS n, sum(w) AS w, sum(s) AS s, sum(said) AS said FROM a NATURAL JOIN b NATURAL LEFT JOIN c GROUP BY map ORDER BY map
