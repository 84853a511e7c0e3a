-- reached in four steps
WITH RECURSIVE r (node, depth) AS (SELECT 1, 0 UNION SELECT f.dst, r.depth + 1 FROM r JOIN follows AS f ON f.src = r.node WHERE r.depth < 4) SELECT depth, count(*) FROM r GROUP BY depth ORDER BY depth
