-- ordinal codes of texts by frequency, rare ones together
WITH f AS (SELECT memo, count(*) AS n FROM payments GROUP BY memo), c AS (SELECT memo, n, dense_rank() OVER (ORDER BY n DESC) AS code, row_number() OVER (ORDER BY n DESC, memo) AS place FROM f)
SELECT CASE WHEN c.place <= 40 THEN c.memo ELSE 'rare' END AS word, min(c.code) AS code, count(*) AS n, avg(p.fraud) AS rate FROM payments p JOIN c ON c.memo = p.memo GROUP BY 1 ORDER BY n DESC, 1 LIMIT 41
