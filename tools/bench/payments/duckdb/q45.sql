-- pointwise mutual information of categories of one card's month
WITH b AS (SELECT DISTINCT p.card, date_trunc('month', p.paid) AS month, m.mcc FROM payments p JOIN merchants m ON m.id = p.merchant WHERE p.card % 2 = 0),
s AS (SELECT mcc, count(*)::double precision AS n FROM b GROUP BY mcc), t AS (SELECT count(*)::double precision AS n FROM (SELECT DISTINCT card, month FROM b) d),
c AS (SELECT x.mcc AS a, y.mcc AS b, count(*)::double precision AS n FROM b x JOIN b y ON y.card = x.card AND y.month = x.month AND x.mcc < y.mcc GROUP BY x.mcc, y.mcc)
SELECT c.a, c.b, c.n, round(ln(c.n * t.n / (sa.n * sb.n))::double precision, 6) AS pmi FROM c CROSS JOIN t JOIN s sa ON sa.mcc = c.a JOIN s sb ON sb.mcc = c.b ORDER BY pmi DESC, c.a, c.b LIMIT 40
