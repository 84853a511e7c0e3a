-- exponentially weighted means of daily totals by recursion
WITH RECURSIVE d AS (SELECT country, paid::date - DATE '2024-01-01' AS day, sum(amount)::double precision AS total FROM payments GROUP BY country, day),
e AS (
  SELECT country, day, total, total AS ewm FROM d WHERE day = 0
  UNION ALL SELECT d.country, d.day, d.total, 0.2 * d.total + 0.8 * e.ewm FROM e JOIN d ON d.country = e.country AND d.day = e.day + 1)
SELECT country, count(*) AS days, avg(ewm) AS mean, sum(abs(total - ewm)) AS off FROM e GROUP BY country ORDER BY country
