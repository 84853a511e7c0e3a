-- a chain of ten common tables
WITH o AS (SELECT customer, date_trunc('month', placed)::date AS m, sum(amount) AS s, count(*) AS n FROM orders GROUP BY 1, 2),
a AS (SELECT *, lag(s) OVER (PARTITION BY customer ORDER BY m) AS p FROM o), b AS (SELECT *, CASE WHEN p IS NULL THEN 'new' WHEN s > p THEN 'up' ELSE 'down' END AS dir FROM a),
c AS (SELECT dir, m, count(*) AS k, sum(s) AS s FROM b GROUP BY dir, m), d AS (SELECT m, sum(k) AS k FROM c GROUP BY m), e AS (SELECT m, avg(s) AS avg_s FROM o GROUP BY m),
f AS (SELECT customer, count(*) AS months FROM o GROUP BY customer), g AS (SELECT months, count(*) AS k FROM f GROUP BY months), h AS (SELECT max(k) AS top FROM g),
i AS (SELECT c.m, c.dir, c.k::numeric / d.k AS share, e.avg_s FROM c JOIN d USING (m) JOIN e USING (m))
SELECT i.m, i.dir, round(i.share, 5) AS share, round(i.avg_s::numeric, 3) AS avg_s, h.top, (SELECT count(*) FROM b WHERE b.m = i.m AND b.n > 2) AS busy FROM i CROSS JOIN h ORDER BY 1, 2
