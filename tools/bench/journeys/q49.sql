-- users like user 7
SELECT b.src, count(*) AS n FROM follows AS a JOIN follows AS b ON b.dst = a.dst AND b.src <> a.src WHERE a.src = 7 GROUP BY b.src ORDER BY n DESC, b.src LIMIT 10
