-- means of the other folds
WITH t AS (SELECT merchant, sum(fraud) AS s, count(*) AS n FROM payments GROUP BY merchant), f AS (SELECT merchant, id % 5 AS fold, sum(fraud) AS s, count(*) AS n FROM payments GROUP BY merchant, fold)
SELECT p.id % 5 AS fold, avg((t.s - f.s)::double precision / nullif(t.n - f.n, 0)) AS oof, corr((t.s - f.s)::double precision / nullif(t.n - f.n, 0), p.fraud) AS r, count(*) AS n
FROM payments p JOIN t ON t.merchant = p.merchant JOIN f ON f.merchant = p.merchant AND f.fold = p.id % 5 GROUP BY 1 ORDER BY 1
