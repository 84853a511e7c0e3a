-- the last view before each buy
SELECT count(*), sum(v.id), sum(v.amount) FROM (SELECT user_id, ts FROM events WHERE kind = 'buy') AS b,
        LATERAL (SELECT id, amount FROM events AS e WHERE e.user_id = b.user_id AND e.kind = 'view' AND e.ts < b.ts ORDER BY e.ts DESC, e.id LIMIT 1) AS v
