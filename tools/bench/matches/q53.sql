-- heroes new to a player, and how many so far
SELECT count(*) AS n, sum(sofar) AS s, sum(new) AS new, avg(sofar * 1.0 / k) AS novelty FROM (
  SELECT new, sum(new) OVER (PARTITION BY player ORDER BY started, id) AS sofar, row_number() OVER (PARTITION BY player ORDER BY started, id) AS k
  FROM (SELECT player, started, id, (row_number() OVER (PARTITION BY player, hero ORDER BY started, id) = 1)::integer AS new FROM plays) y) x
