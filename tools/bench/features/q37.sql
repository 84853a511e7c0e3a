-- how many different items a user has seen so far
SELECT count(*), sum(n), max(n) FROM (
        SELECT sum(new) OVER (PARTITION BY user_id ORDER BY ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM (
                SELECT user_id, ts, id, CASE WHEN row_number() OVER (PARTITION BY user_id, item_id ORDER BY ts, id) = 1 THEN 1 ELSE 0 END AS new FROM events) AS f) AS ans
