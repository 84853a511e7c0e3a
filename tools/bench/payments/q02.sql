-- leave-one-out target encoding
WITH e AS (
  SELECT id, fraud, (sum(fraud) OVER (PARTITION BY merchant) - fraud)::double precision / nullif(count(*) OVER (PARTITION BY merchant) - 1, 0) AS loo FROM payments)
SELECT fraud, count(*) AS n, count(loo) AS known, avg(loo) AS mean, min(loo) AS least, max(loo) AS greatest FROM e GROUP BY fraud ORDER BY fraud
