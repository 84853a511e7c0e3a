-- several group sets in one answer
SELECT grouping(map, role, hero) AS g, map, role, hero, count(*) AS n, avg(damage) AS d, sum(kills) AS k, count(won) AS c, max(score) AS s
FROM plays GROUP BY GROUPING SETS ((map, role), (hero), (map, hero), ()) ORDER BY g, map, role, hero
