-- ancestors of every part
WITH RECURSIVE a AS (SELECT child, parent FROM parts WHERE parent IS NOT NULL UNION SELECT a.child, p.parent FROM a JOIN parts p ON p.child = a.parent WHERE p.parent IS NOT NULL)
SELECT parent, count(*) AS below FROM a GROUP BY parent ORDER BY below DESC, parent LIMIT 20
