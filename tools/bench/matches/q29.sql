-- tokens split into train, validation and test
SELECT CASE WHEN left(token::text, 1) < 'c' THEN 'train' WHEN left(token::text, 1) < 'e' THEN 'valid' ELSE 'test' END AS part, count(*) AS n, count(DISTINCT token) AS t, avg(p.n) AS plays, max(token::text) AS last, count(*) FILTER (WHERE token > '80000000-0000-0000-0000-000000000000') AS upper
FROM players JOIN (SELECT player, count(*) AS n FROM plays GROUP BY player) p ON p.player = id GROUP BY 1 ORDER BY 1
