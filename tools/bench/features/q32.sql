-- a histogram
SELECT floor(amount / 50) AS bin, count(*), avg(price), count(DISTINCT item_id) FROM events GROUP BY 1 ORDER BY 1
