-- split by a hash of the key, and how alike the parts are
SELECT CASE WHEN substr(md5(card::text), 1, 2) < 'b3' THEN 'train' WHEN substr(md5(card::text), 1, 2) < 'd9' THEN 'valid' ELSE 'test' END AS part,
       count(*) AS n, count(DISTINCT card) AS cards, avg(amount) AS mean, stddev_samp(amount) AS sd, avg(fraud) AS rate
FROM payments GROUP BY part ORDER BY part
