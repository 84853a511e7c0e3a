-- spread of amounts a user
SELECT count(*), avg(s), avg(v), sum(c) FROM (
        SELECT user_id, stddev_samp(amount) AS s, var_pop(amount) AS v, count(amount) AS c FROM events GROUP BY user_id) AS ans
