-- the three items on which a user spent most
SELECT count(*), sum(s), sum(item_id) FROM (
        SELECT user_id, item_id, s, row_number() OVER (PARTITION BY user_id ORDER BY s DESC, item_id) AS r FROM (
                SELECT user_id, item_id, sum(price) AS s FROM events GROUP BY 1, 2) AS x) AS ans WHERE r <= 3
