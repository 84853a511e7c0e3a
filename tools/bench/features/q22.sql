-- daily totals a user
SELECT count(*), sum(s), max(n) FROM (SELECT user_id, date_trunc('day', ts) AS d, sum(price) AS s, count(*) AS n FROM events GROUP BY 1, 2) AS ans
