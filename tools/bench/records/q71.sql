-- points of a path through categories
SELECT split_part(p.path, ' > ', 1) AS l1, split_part(p.path, ' > ', 2) AS l2, reverse(split_part(reverse(p.path), ' > ', 1)) AS leaf, count(*) AS n, avg(p.weight) AS w, sum(x.price) AS s FROM products p JOIN prices x USING (sku) WHERE x.valid_to IS NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
