-- active users a month
SELECT date_trunc('month', ts) AS m, count(DISTINCT user_id), count(DISTINCT item_id), count(*) FROM events GROUP BY 1 ORDER BY 1
