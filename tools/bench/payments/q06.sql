-- a pivot by FILTER: counts and sums of a card by channel and currency
WITH f AS (
  SELECT card, count(*) AS n, count(*) FILTER (WHERE channel = 'web') AS web, count(*) FILTER (WHERE channel = 'atm') AS atm, count(*) FILTER (WHERE channel = 'app') AS app,
         count(*) FILTER (WHERE channel = 'chip') AS chip, count(*) FILTER (WHERE channel IS NULL) AS other, count(*) FILTER (WHERE currency = 'USD') AS usd,
         count(*) FILTER (WHERE currency = 'GBP') AS gbp, count(*) FILTER (WHERE currency = 'CHF') AS chf, sum(amount) FILTER (WHERE channel = 'web') AS web_sum,
         sum(amount) FILTER (WHERE channel = 'atm') AS atm_sum, avg(amount) FILTER (WHERE currency <> 'EUR') AS foreign_mean, max(amount) FILTER (WHERE status = 'declined') AS declined_max,
         bool_or(status = 'reversed') AS reversed
  FROM payments GROUP BY card)
SELECT count(*) AS n, sum(web) AS web, sum(atm) AS atm, sum(app) AS app, sum(chip) AS chip, sum(other) AS other, sum(usd * gbp) AS ug, max(chf) AS chf, sum(web_sum) AS ws, sum(atm_sum) AS at_, avg(foreign_mean) AS fm, sum(declined_max) AS dm, count(*) FILTER (WHERE reversed) AS rev FROM f
