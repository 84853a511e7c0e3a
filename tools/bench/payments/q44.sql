-- negative samples: pairs of card and merchant that were not
WITH pos AS (SELECT DISTINCT card, merchant FROM payments WHERE card <= 1500 AND merchant <= 300),
c AS (SELECT c.id AS card, m.id AS merchant FROM cards c CROSS JOIN merchants m WHERE c.id <= 1500 AND m.id <= 300),
neg AS (SELECT c.card, c.merchant, row_number() OVER (PARTITION BY c.card ORDER BY (c.card * 7919 + c.merchant * 104729) % 10007, c.merchant) AS k FROM c LEFT JOIN pos p ON p.card = c.card AND p.merchant = c.merchant WHERE p.card IS NULL)
SELECT 0 AS label, count(*) AS n, sum(merchant) AS m, count(DISTINCT card) AS cards FROM neg WHERE k <= 4 UNION ALL SELECT 1, count(*), sum(merchant), count(DISTINCT card) FROM pos ORDER BY 1
