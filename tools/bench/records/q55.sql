-- hours of a day in another zone
SELECT extract(hour FROM placed AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York')::integer AS h, count(*), sum(amount) FROM orders GROUP BY 1 ORDER BY 1
