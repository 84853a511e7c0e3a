-- counts of three characters in a row
SELECT g, count(*) AS n, count(DISTINCT id) AS merchants
FROM (SELECT m.id, lower(substr(m.name, k::integer, 3)) AS g FROM merchants m CROSS JOIN generate_series(1, 20) AS s (k) WHERE k <= length(m.name) - 2) t
GROUP BY g HAVING count(*) > 3 ORDER BY n DESC, g LIMIT 40
