-- days since each kind of payment, and kinds never seen
WITH f AS (
  SELECT card, DATE '2025-01-01' - max(paid::date) FILTER (WHERE channel = 'atm') AS atm, DATE '2025-01-01' - max(paid::date) FILTER (WHERE channel = 'web') AS web, DATE '2025-01-01' - max(paid::date) FILTER (WHERE status = 'declined') AS declined,
         DATE '2025-01-01' - max(paid::date) FILTER (WHERE currency <> 'EUR') AS foreign_, DATE '2025-01-01' - min(paid::date) AS age, max(amount) AS top, (array_agg(merchant ORDER BY amount DESC, id))[1] AS dearest
  FROM payments GROUP BY card)
SELECT coalesce(atm, -1) > web AS atm_later, count(*) AS n, avg(atm) AS atm, avg(web) AS web, avg(coalesce(declined, 999)) AS declined, max(foreign_) AS foreign_, max(age) AS age, sum(dearest) AS dearest FROM f GROUP BY 1 ORDER BY 1 NULLS LAST
