-- keys as text of ISO week, and numbers as text
SELECT strftime(started, '%G-%V') AS week, strftime(started, '%a') AS day, count(*) AS n, min(lpad(score::text, 7, '0')) AS s, max(strftime(started, '%Y-%m-%d %H:%M:%S')) AS t, max(hero || '@' || map) AS f, min(concat_ws('/', map, role, hero)) AS c
FROM plays GROUP BY 1, 2 ORDER BY 1, 2
