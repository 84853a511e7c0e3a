-- the set of a player's maps and roles as one text
SELECT maps, roles, count(*) AS n FROM (SELECT player, string_agg(DISTINCT map, ',' ORDER BY map) AS maps, coalesce(string_agg(DISTINCT role, '+' ORDER BY role DESC), 'none') AS roles FROM plays WHERE started < TIMESTAMP '2024-03-20' GROUP BY player) x
GROUP BY maps, roles ORDER BY n DESC, maps, roles LIMIT 30
