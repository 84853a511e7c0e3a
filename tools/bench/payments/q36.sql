-- a sample of a tenth of each stratum
SELECT country, channel, count(*) AS n, sum(amount) AS total
FROM (SELECT country, channel, amount, row_number() OVER (PARTITION BY country, channel ORDER BY id * 7919 % 1000003, id) AS k, count(*) OVER (PARTITION BY country, channel) AS size FROM payments) t
WHERE k <= ceil(size * 0.1) GROUP BY country, channel ORDER BY country, channel NULLS FIRST
