-- the three dearest events a user
SELECT count(*), sum(price), sum(id) FROM (
        SELECT id, price, row_number() OVER (PARTITION BY user_id ORDER BY price DESC, id) AS r FROM events) AS ans WHERE r <= 3
