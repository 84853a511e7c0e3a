-- text made canonical, then grouped
SELECT initcap(lower(trim(split_part(trim(name), ' ', 1)))) AS first, translate(upper(country), 'ABC', 'XYZ') AS c, count(*) AS n, min(replace(overlay(zip placing '***' from 2 for 3), '*', '#')) AS z, max(regexp_replace(email, '^(.).*@', '\1***@')) AS e FROM customers GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 30
