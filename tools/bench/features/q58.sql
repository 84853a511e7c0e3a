-- dense ranks and places of a user's prices
SELECT count(*), sum(d), sum(c) FROM (
        SELECT dense_rank() OVER (PARTITION BY user_id ORDER BY price) AS d, cume_dist() OVER (PARTITION BY user_id ORDER BY price) AS c FROM events) AS ans
