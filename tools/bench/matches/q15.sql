-- better than every map's mean, one of the common heroes
SELECT hero, count(*) AS n, max(damage) AS d FROM plays
WHERE damage > ALL (SELECT avg(damage) + 2000 FROM plays GROUP BY map) AND hero = ANY (SELECT hero FROM plays GROUP BY hero HAVING count(*) > 30000) AND map = ANY (ARRAY['dust', 'forge', 'ice']) AND role <> ALL (ARRAY['tank'])
GROUP BY hero ORDER BY n DESC, hero
