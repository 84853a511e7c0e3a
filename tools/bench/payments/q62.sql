-- calibration and losses of a score by tenths
SELECT bin, count(*) AS n, avg(p) AS said, avg(label) AS was, -avg(label * ln(p) + (1 - label) * ln(1 - p)) AS logloss, avg(power(p - label, 2)) AS brier
FROM (SELECT label, p, ntile(10) OVER (ORDER BY p, id) AS bin FROM (SELECT id, label, 1 / (1 + exp(3 - x01 / 50 + x05 / 40)) AS p FROM profiles) s) t GROUP BY bin ORDER BY bin
