-- the latest of what is twice
WITH r AS (SELECT *, row_number() OVER (PARTITION BY card, merchant, paid::date ORDER BY paid DESC, id DESC) AS k, count(*) OVER (PARTITION BY card, merchant, paid::date) AS copies FROM payments)
SELECT copies, count(*) AS n, sum(amount) AS total, max(paid) AS last FROM r WHERE k = 1 GROUP BY copies ORDER BY copies
