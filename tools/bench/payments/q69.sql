-- features of the merchant as of the day before: fraud of its last thirty days
WITH d AS (SELECT merchant, paid::date AS day, count(*) AS n, sum(fraud) AS bad FROM payments GROUP BY merchant, paid::date),
w AS (SELECT merchant, day, sum(n) OVER m AS n30, sum(bad) OVER m AS bad30 FROM d WINDOW m AS (PARTITION BY merchant ORDER BY day RANGE BETWEEN INTERVAL '30 days' PRECEDING AND INTERVAL '1 day' PRECEDING))
SELECT p.fraud, count(*) AS n, avg((w.bad30 + 1)::double precision / (w.n30 + 50)) AS rate, avg(w.n30) AS support, count(*) FILTER (WHERE w.n30 IS NULL) AS unknown
FROM payments p JOIN w ON w.merchant = p.merchant AND w.day = p.paid::date GROUP BY p.fraud ORDER BY p.fraud
