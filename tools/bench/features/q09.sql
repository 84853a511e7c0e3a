-- the last row a user
SELECT count(*), sum(id), sum(amount) FROM (SELECT DISTINCT ON (user_id) id, user_id, amount FROM events ORDER BY user_id, ts DESC, id) AS ans
