-- classes balanced by an order of hashes
WITH r AS (SELECT id, fraud, amount, country, row_number() OVER (PARTITION BY fraud ORDER BY md5(id::text)) AS k FROM payments),
n AS (SELECT min(n) AS n FROM (SELECT count(*) AS n FROM payments GROUP BY fraud) c)
SELECT r.fraud, count(*) AS n, avg(r.amount) AS mean, count(DISTINCT r.country) AS countries FROM r CROSS JOIN n WHERE r.k <= n.n GROUP BY r.fraud ORDER BY r.fraud
