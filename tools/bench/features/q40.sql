-- the last amount that is known
SELECT count(*), sum(known) FROM (
        SELECT max(amount) OVER (PARTITION BY user_id, g) AS known FROM (
                SELECT user_id, amount, count(amount) OVER (PARTITION BY user_id ORDER BY ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS g FROM events) AS x) AS ans
