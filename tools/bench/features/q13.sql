-- what a user did in the seven days before
SELECT count(*), sum(n), sum(s) FROM (
        SELECT count(*) OVER w AS n, sum(price) OVER w AS s FROM events
        WINDOW w AS (PARTITION BY user_id ORDER BY ts RANGE BETWEEN INTERVAL '7 days' PRECEDING AND CURRENT ROW)) AS ans
