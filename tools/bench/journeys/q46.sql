-- followers of followers
SELECT count(*), sum(n) FROM (SELECT a.src, count(DISTINCT b.dst) AS n FROM follows AS a JOIN follows AS b ON b.src = a.dst WHERE a.src < 2000 GROUP BY a.src) AS x
