-- heroes of one month and not of the next, by player
SELECT count(*) AS n, count(DISTINCT player) AS p, min(hero) AS h FROM (
  (SELECT player, hero FROM plays WHERE started < TIMESTAMP '2024-04-15' EXCEPT SELECT player, hero FROM plays WHERE started >= TIMESTAMP '2024-04-15' AND started < TIMESTAMP '2024-06-01')
  INTERSECT SELECT player, hero FROM plays WHERE won) x
