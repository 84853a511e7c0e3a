-- velocity: payments and merchants of the last day, without the row itself
SELECT least(n, 5) AS n, count(*) AS rows_, avg(fraud) AS rate, avg(amount / nullif(mean, 0)) AS ratio, max(top) AS top
FROM (
  SELECT fraud, amount, count(*) OVER w AS n, avg(amount) OVER w AS mean, max(amount) OVER w AS top FROM payments
  WINDOW w AS (PARTITION BY card ORDER BY paid RANGE BETWEEN INTERVAL '1 day' PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW)) t
GROUP BY 1 ORDER BY 1
