-- triangles
SELECT count(*) FROM follows AS a JOIN follows AS b ON b.src = a.dst JOIN follows AS c ON c.src = b.dst AND c.dst = a.src WHERE a.src < 4000
