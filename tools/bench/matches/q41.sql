-- heroes picked together in a team, by pointwise mutual information
WITH h AS (SELECT hero, count(*)::double precision / (SELECT count(*) FROM plays) AS p FROM plays GROUP BY hero),
     c AS (SELECT a.hero AS x, b.hero AS y, count(*) AS n, avg(a.won::integer) AS w FROM plays a JOIN plays b ON a.match = b.match AND a.team = b.team AND a.hero < b.hero GROUP BY 1, 2)
SELECT x, y, n, w, ln(n / sum(n) OVER () / (hx.p * hy.p * 2)) AS pmi FROM c JOIN h hx ON hx.hero = x JOIN h hy ON hy.hero = y WHERE n >= 50 ORDER BY n DESC, x, y LIMIT 50
