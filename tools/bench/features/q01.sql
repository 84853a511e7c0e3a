-- the commonest kind a user
SELECT count(*), min(k), max(k) FROM (SELECT user_id, mode() WITHIN GROUP (ORDER BY item_id % 10) AS k FROM events GROUP BY user_id) AS ans
