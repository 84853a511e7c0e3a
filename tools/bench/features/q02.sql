-- hours and days of the week
SELECT extract(dow FROM ts) AS d, extract(hour FROM ts) AS h, count(*), avg(amount) FROM events GROUP BY 1, 2 ORDER BY 1, 2
