-- users without a review
SELECT count(*), sum(n) FROM (SELECT user_id, count(*) AS n FROM events GROUP BY user_id) AS u
WHERE NOT EXISTS (SELECT 1 FROM events AS e WHERE e.user_id = u.user_id AND e.kind = 'review')
