-- a sample by hash
SELECT count(*), sum(price), count(DISTINCT user_id) FROM events WHERE substr(md5(user_id::text), 1, 2) < '33'
