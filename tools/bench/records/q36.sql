-- paths of parts as text and array, no cycles
WITH RECURSIVE w AS (
  SELECT child, child::text AS path, ARRAY[child] AS ids FROM parts WHERE parent IS NULL
  UNION ALL SELECT p.child, w.path || '/' || p.child, w.ids || p.child FROM w JOIN parts p ON p.parent = w.child WHERE p.child <> ALL (w.ids))
SELECT path, cardinality(ids) AS depth FROM w ORDER BY length(path) DESC, path LIMIT 30
