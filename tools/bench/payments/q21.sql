-- exponentially weighted means by sums of powers
WITH r AS (SELECT card, amount::double precision AS amount, row_number() OVER (PARTITION BY card ORDER BY paid, id) AS k FROM payments),
e AS (
  SELECT card, k, sum(amount * power(0.9, -k)) OVER w / sum(power(0.9, -k)) OVER w AS ewm FROM r WINDOW w AS (PARTITION BY card ORDER BY k ROWS UNBOUNDED PRECEDING))
SELECT least(k, 40) AS k, count(*) AS n, avg(ewm) AS ewm, max(ewm) AS top FROM e GROUP BY 1 ORDER BY 1
