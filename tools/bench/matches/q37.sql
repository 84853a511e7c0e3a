-- who brought whom: depth and root
WITH RECURSIVE r AS (SELECT id, id AS root, 0 AS depth FROM players WHERE referrer IS NULL UNION ALL SELECT p.id, r.root, r.depth + 1 FROM players p JOIN r ON p.referrer = r.id)
SELECT depth, count(*) AS n, count(DISTINCT root) AS roots, max(root) AS r FROM r GROUP BY depth ORDER BY depth
