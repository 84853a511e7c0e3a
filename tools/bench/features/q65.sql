-- spread of fixed numerics and integers a user
SELECT count(*), sum(s), sum(v) FROM (SELECT user_id, stddev_samp(price) AS s, var_pop(item_id) AS v FROM events GROUP BY user_id) AS ans