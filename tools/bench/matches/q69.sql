-- items alike by their tags
SELECT a.sku, b.sku AS other, cardinality(ARRAY(SELECT unnest(a.tags) INTERSECT SELECT unnest(b.tags))) AS common FROM items a JOIN items b ON a.sku < b.sku AND a.tags && b.tags WHERE a.kind = 'skin' AND b.kind = 'pass' AND a.tags @> ARRAY['t3'] ORDER BY 3 DESC, 1, 2 LIMIT 40
