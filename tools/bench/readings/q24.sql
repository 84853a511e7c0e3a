-- pieces of three letters
SELECT g, count(*) FROM (SELECT substr(lower(body), i::integer, 3) AS g FROM notes CROSS JOIN generate_series(1, 12) AS s (i) WHERE id % 60 = 0) AS x
WHERE length(g) = 3 GROUP BY g ORDER BY 2 DESC, 1 LIMIT 40
