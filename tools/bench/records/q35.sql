-- explosion of the bill of materials
WITH RECURSIVE e AS (
  SELECT child AS top, child, qty::bigint AS qty, 1 AS depth FROM parts WHERE parent IS NULL
  UNION ALL SELECT e.top, p.child, e.qty * p.qty, e.depth + 1 FROM e JOIN parts p ON p.parent = e.child)
SELECT e.top, max(e.depth) AS depth, count(*) AS parts, sum(e.qty) AS qty, sum(e.qty * p.cost) AS cost FROM e JOIN parts p ON p.child = e.child GROUP BY e.top ORDER BY e.top
