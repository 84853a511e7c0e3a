-- a line a user
SELECT count(*), avg(s), avg(i), avg(r2) FROM (
        SELECT user_id, regr_slope(amount, price::double precision) AS s, regr_intercept(amount, price::double precision) AS i,
               regr_r2(amount, price::double precision) AS r2 FROM events GROUP BY user_id HAVING count(amount) > 5) AS ans
