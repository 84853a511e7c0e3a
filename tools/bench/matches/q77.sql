-- rows of the best pairs
SELECT role, count(*) AS n, avg(score) AS s FROM plays WHERE (map, hero) IN (SELECT map, hero FROM plays WHERE won GROUP BY map, hero ORDER BY count(*) DESC, map, hero LIMIT 20) AND (team, kills) <> (0, 0) GROUP BY role ORDER BY role
