-- the longest series of wins and losses of a player
WITH s AS (SELECT player, won, row_number() OVER (PARTITION BY player ORDER BY started, id) - row_number() OVER (PARTITION BY player, won ORDER BY started, id) AS g FROM plays WHERE won IS NOT NULL),
     r AS (SELECT player, won, count(*) AS len FROM s GROUP BY player, won, g)
SELECT won, len, count(*) AS n, count(DISTINCT player) AS p FROM r GROUP BY won, len ORDER BY won, len DESC
