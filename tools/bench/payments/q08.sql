-- several percentiles by group at once
SELECT merchant, q[1] AS p05, q[2] AS p25, q[3] AS p50, q[4] AS p75, q[5] AS p95, med
FROM (
  SELECT merchant, percentile_cont(ARRAY[0.05, 0.25, 0.5, 0.75, 0.95]) WITHIN GROUP (ORDER BY amount::double precision) AS q, percentile_cont(0.5) WITHIN GROUP (ORDER BY score) AS med
  FROM payments GROUP BY merchant) t
ORDER BY merchant LIMIT 50
