-- differences and moving statistics of ten payments
SELECT country, avg(diff) AS diff, avg(mean) AS mean, avg(sd) AS sd, sum(low) AS low, sum(high) AS high, avg(z) AS z
FROM (
  SELECT country, amount - lag(amount) OVER (PARTITION BY card ORDER BY paid, id) AS diff, avg(amount) OVER w AS mean, stddev_samp(amount) OVER w AS sd, min(amount) OVER w AS low, max(amount) OVER w AS high,
         (amount - avg(amount) OVER w) / nullif(stddev_pop(amount) OVER w, 0) AS z
  FROM payments WINDOW w AS (PARTITION BY card ORDER BY paid, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)) t
GROUP BY country ORDER BY country
