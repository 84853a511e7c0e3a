-- medians and quartiles a user
SELECT count(*), sum(a), sum(b), sum(c) FROM (
        SELECT user_id, percentile_cont(0.25) WITHIN GROUP (ORDER BY amount) AS a, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS b,
               percentile_disc(0.9) WITHIN GROUP (ORDER BY amount) AS c FROM events GROUP BY user_id) AS ans
