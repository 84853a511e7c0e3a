-- views in the day before each buy
SELECT count(*), sum(n), max(n) FROM (
        SELECT b.id, count(v.id) AS n FROM events AS b LEFT JOIN events AS v
        ON v.user_id = b.user_id AND v.kind = 'view' AND v.ts < b.ts AND v.ts >= b.ts - INTERVAL '7 days'
        WHERE b.kind = 'buy' GROUP BY b.id) AS ans
