-- the slope of a card's trend
WITH t AS (
  SELECT card, regr_slope(amount::double precision, extract(epoch FROM paid)::double precision / 86400) AS slope, regr_intercept(amount::double precision, extract(epoch FROM paid)::double precision / 86400) AS base,
         regr_r2(amount::double precision, extract(epoch FROM paid)::double precision / 86400) AS r2, regr_count(score, extract(epoch FROM paid)::double precision) AS n, covar_pop(score, amount::double precision) AS cov
  FROM payments GROUP BY card HAVING count(*) >= 10)
SELECT n, count(*) AS cards, avg(slope) AS slope, avg(r2) AS r2, avg(cov) AS cov FROM t GROUP BY n ORDER BY n
