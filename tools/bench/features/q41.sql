-- the least and the greatest price of thirty days
SELECT count(*), sum(lo), sum(hi) FROM (
        SELECT min(price) OVER w AS lo, max(price) OVER w AS hi FROM events
        WINDOW w AS (PARTITION BY user_id ORDER BY ts RANGE BETWEEN INTERVAL '30 days' PRECEDING AND CURRENT ROW)) AS ans
