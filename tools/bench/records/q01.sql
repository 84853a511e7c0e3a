-- RFM scores of customers
WITH rfm AS (
  SELECT customer, DATE '2025-01-01' - max(placed)::date AS recency, count(*) AS frequency, sum(amount) AS monetary
  FROM orders WHERE status <> 'cancelled' GROUP BY customer),
scored AS (
  SELECT customer, ntile(5) OVER (ORDER BY recency DESC, customer) AS r, ntile(5) OVER (ORDER BY frequency, customer) AS f, ntile(5) OVER (ORDER BY monetary, customer) AS m FROM rfm)
SELECT r, f, m, r::text || f::text || m::text AS cell, count(*) FROM scored GROUP BY r, f, m ORDER BY r, f, m
