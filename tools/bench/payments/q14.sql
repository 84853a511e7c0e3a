-- counts and sums of the last seven, thirty and ninety days at each payment
SELECT date_trunc('month', paid)::date AS month, avg(n7) AS n7, avg(n30) AS n30, avg(s90) AS s90, avg(s7 / nullif(s30, 0)) AS ratio
FROM (
  SELECT paid, count(*) OVER w7 AS n7, count(*) OVER w30 AS n30, sum(amount) OVER w90 AS s90, sum(amount) OVER w7 AS s7, sum(amount) OVER w30 AS s30
  FROM payments
  WINDOW w7 AS (PARTITION BY card ORDER BY paid RANGE BETWEEN INTERVAL '7 days' PRECEDING AND CURRENT ROW),
         w30 AS (PARTITION BY card ORDER BY paid RANGE BETWEEN INTERVAL '30 days' PRECEDING AND CURRENT ROW),
         w90 AS (PARTITION BY card ORDER BY paid RANGE BETWEEN INTERVAL '90 days' PRECEDING AND CURRENT ROW)) t
GROUP BY month ORDER BY month
