-- texts with a word
SELECT kind, count(*), min(url), count(DISTINCT user_id) FROM events WHERE url LIKE '%site7%' AND url NOT LIKE '%www.%' GROUP BY kind ORDER BY count(*) DESC, kind
