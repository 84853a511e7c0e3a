-- moving median of seven by a join of row numbers
WITH r AS (SELECT card, amount::double precision AS amount, row_number() OVER (PARTITION BY card ORDER BY paid, id) AS k FROM payments WHERE card % 5 = 0),
m AS (SELECT a.card, a.k, a.amount, percentile_cont(0.5) WITHIN GROUP (ORDER BY b.amount) AS med FROM r a JOIN r b ON b.card = a.card AND b.k BETWEEN a.k - 6 AND a.k GROUP BY a.card, a.k, a.amount)
SELECT card % 50 AS part, count(*) AS n, avg(med) AS med, avg(abs(amount - med)) AS off FROM m GROUP BY part ORDER BY part
