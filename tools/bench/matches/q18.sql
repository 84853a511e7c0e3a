-- what is left of a bag of pairs
SELECT map, role, count(*) AS n FROM (SELECT map, role, player FROM plays WHERE team = 0 EXCEPT ALL SELECT map, role, player FROM plays WHERE team = 1) x GROUP BY map, role ORDER BY map, role
