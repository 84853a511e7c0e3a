-- distinct merchants of the last ten payments
WITH r AS (SELECT id, card, merchant, row_number() OVER (PARTITION BY card ORDER BY paid, id) AS k FROM payments WHERE card % 4 = 1)
SELECT n, count(*) AS rows_ FROM (SELECT a.id, count(DISTINCT b.merchant) AS n FROM r a JOIN r b ON b.card = a.card AND b.k > a.k - 10 AND b.k <= a.k GROUP BY a.id) t GROUP BY n ORDER BY n
