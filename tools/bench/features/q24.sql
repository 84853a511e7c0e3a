-- users who bought after a return
SELECT count(DISTINCT a.user_id) FROM events AS a JOIN events AS b ON a.user_id = b.user_id AND a.kind = 'return' AND b.kind = 'buy' AND b.ts > a.ts
