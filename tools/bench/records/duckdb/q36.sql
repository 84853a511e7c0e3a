-- paths of parts as text and array, no cycles
WITH RECURSIVE w AS (
  SELECT child, child::text AS path, [child] AS ids FROM parts WHERE parent IS NULL
  UNION ALL SELECT p.child, w.path || '/' || p.child, list_append(w.ids, p.child) FROM w JOIN parts p ON p.parent = w.child WHERE NOT list_contains(w.ids, p.child))
SELECT path, len(ids) AS depth FROM w ORDER BY length(path) DESC, path LIMIT 30
