-- keys as text of ISO week, and numbers as text
SELECT to_char(started, 'IYYY-IW') AS week, to_char(started, 'Dy') AS day, count(*) AS n, min(to_char(score, 'FM0000.00')) AS s, max(to_char(started, 'YYYY-MM-DD HH24:MI:SS')) AS t, max(format('%s@%s', hero, map)) AS f, min(concat_ws('/', map, role, hero)) AS c
FROM plays GROUP BY 1, 2 ORDER BY 1, 2
