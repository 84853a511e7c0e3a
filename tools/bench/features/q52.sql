-- cohorts: the month of a user's first event, and months since
SELECT m0, extract(month FROM e.ts) - extract(month FROM u.m0) AS since, count(DISTINCT e.user_id), sum(e.price)
FROM events AS e JOIN (SELECT user_id, date_trunc('month', min(ts)) AS m0 FROM events GROUP BY user_id) AS u ON u.user_id = e.user_id GROUP BY 1, 2 ORDER BY 1, 2
