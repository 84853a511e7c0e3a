-- buckets of hashed categories
SELECT bucket, count(*) AS n, count(DISTINCT country || ':' || currency) AS kinds, avg(fraud) AS rate
FROM (SELECT country, currency, fraud, substr(md5(country || ':' || currency || ':' || coalesce(channel, '?')), 1, 1) AS bucket FROM payments) t GROUP BY bucket ORDER BY bucket
