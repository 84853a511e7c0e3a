-- correlation a user
SELECT count(*), avg(r) FROM (SELECT user_id, corr(amount, price::double precision) AS r FROM events GROUP BY user_id HAVING count(amount) > 5) AS ans
