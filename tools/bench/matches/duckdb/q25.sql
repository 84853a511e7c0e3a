-- logical and bitwise aggregates by player
SELECT count(*) AS n, sum(a::integer) AS a, sum(b::integer) AS b, sum(c) AS c, sum(d) AS d, sum(e) AS e, count(m) AS m, min(m) AS least FROM (
  SELECT player, bool_and(kills > 0) AS a, bool_or(won AND kills = 0) AS b, bit_and(seconds) AS c, bit_or(kills) AS d, bit_xor(deaths) AS e, arg_max(hero, (n, n2)) AS m, bool_and(ping IS NOT NULL) AS f
  FROM (SELECT *, count(*) OVER (PARTITION BY player, hero) AS n, -dense_rank() OVER (ORDER BY hero) AS n2 FROM plays) GROUP BY player) x
