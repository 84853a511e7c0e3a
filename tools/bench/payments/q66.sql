-- outside the fences of a category
WITH q AS (SELECT m.mcc, percentile_cont(0.25) WITHIN GROUP (ORDER BY p.amount::double precision) AS q1, percentile_cont(0.75) WITHIN GROUP (ORDER BY p.amount::double precision) AS q3 FROM payments p JOIN merchants m ON m.id = p.merchant GROUP BY m.mcc)
SELECT m.mcc, count(*) AS n, count(*) FILTER (WHERE p.amount > q.q3 + 1.5 * (q.q3 - q.q1)) AS high, avg(p.amount) FILTER (WHERE p.amount BETWEEN q.q1 AND q.q3) AS mid
FROM payments p JOIN merchants m ON m.id = p.merchant JOIN q ON q.mcc = m.mcc GROUP BY m.mcc ORDER BY m.mcc
