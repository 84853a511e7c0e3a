-- time since the last, the first, and the last of the same merchant, hours
SELECT fraud, avg(last_h) AS last_h, avg(first_h) AS first_h, avg(same_h) AS same_h, count(same_h) AS again, count(*) AS n
FROM (
  SELECT fraud, extract(epoch FROM paid - lag(paid) OVER w) / 3600 AS last_h, extract(epoch FROM paid - first_value(paid) OVER w) / 3600 AS first_h,
         extract(epoch FROM paid - lag(paid) OVER (PARTITION BY card, merchant ORDER BY paid, id)) / 3600 AS same_h
  FROM payments WINDOW w AS (PARTITION BY card ORDER BY paid, id)) t
GROUP BY fraud ORDER BY fraud
