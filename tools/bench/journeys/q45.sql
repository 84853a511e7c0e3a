-- mutual followers
SELECT count(*) FROM follows AS a JOIN follows AS b ON a.src = b.dst AND a.dst = b.src WHERE a.src < a.dst
