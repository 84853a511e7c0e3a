-- the first and the last amount a user
SELECT count(*), sum(a), sum(b) FROM (
        SELECT DISTINCT user_id, first_value(price) OVER w AS a, last_value(price) OVER w AS b FROM events
        WINDOW w AS (PARTITION BY user_id ORDER BY ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS ans
