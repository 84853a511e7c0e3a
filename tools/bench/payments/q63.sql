-- transitions between categories
WITH t AS (SELECT m.mcc % 12 AS a, lead(m.mcc % 12) OVER (PARTITION BY p.card ORDER BY p.paid, p.id) AS b FROM payments p JOIN merchants m ON m.id = p.merchant),
c AS (SELECT a, b, count(*) AS n FROM t WHERE b IS NOT NULL GROUP BY a, b)
SELECT a, b, n, round((n::double precision / sum(n) OVER (PARTITION BY a))::numeric, 6) AS p FROM c ORDER BY a, b
