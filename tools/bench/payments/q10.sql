-- z-scores, and robust ones by median and MAD, of a merchant's amounts
WITH m AS (SELECT merchant, avg(amount::double precision) AS mu, stddev_samp(amount::double precision) AS sd, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount::double precision) AS med FROM payments GROUP BY merchant),
d AS (SELECT p.merchant, percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(p.amount::double precision - m.med)) AS mad FROM payments p JOIN m ON m.merchant = p.merchant GROUP BY p.merchant)
SELECT count(*) AS n, count(*) FILTER (WHERE abs(p.amount - m.mu) > 2 * m.sd) AS far, count(*) FILTER (WHERE abs(p.amount - m.med) > 3 * 1.4826 * d.mad) AS robust, avg(abs(p.amount - m.mu) / m.sd) AS mean
FROM payments p JOIN m ON m.merchant = p.merchant JOIN d ON d.merchant = p.merchant
