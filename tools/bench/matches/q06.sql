-- versions compared part by part
WITH v AS (SELECT split_part(client, '.', 1)::integer AS a, split_part(client, '.', 2)::integer AS b, split_part(split_part(client, '.', 3), ' ', 1)::integer AS c,
                  split_part(split_part(client, '(', 2), ';', 1) AS os, rtrim(split_part(client, '; ', 2), ')') AS cpu, damage, ping FROM plays)
SELECT os, cpu, (a, b, c) >= (1, 9, 3) AS recent, count(*) AS n, avg(damage) AS d, avg(ping) AS p, max(a * 10000 + b * 100 + c) AS newest FROM v GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
