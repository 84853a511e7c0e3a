-- items alike by their tags
SELECT a.sku, b.sku AS other, len(list_intersect(a.tags, b.tags)) AS common FROM items a JOIN items b ON a.sku < b.sku AND list_has_any(a.tags, b.tags) WHERE a.kind = 'skin' AND b.kind = 'pass' AND list_contains(a.tags, 't3') ORDER BY 3 DESC, 1, 2 LIMIT 40
