-- the item of each user's last event
SELECT count(*), sum(last) FROM (SELECT user_id, (array_agg(item_id ORDER BY ts DESC, id))[1] AS last FROM events GROUP BY user_id) AS ans
