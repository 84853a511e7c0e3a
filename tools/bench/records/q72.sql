-- labels as arrays: overlap and containment
SELECT (SELECT count(*) FROM products WHERE labels::text[] && ARRAY['a', 'z']) AS over, (SELECT count(*) FROM products WHERE labels::text[] @> ARRAY['b', 'c']) AS has, (SELECT count(*) FROM products a JOIN products b ON a.sku < b.sku AND a.labels::text[] && b.labels::text[] WHERE a.launched = b.launched) AS pairs
