-- text made canonical, then grouped
SELECT concat(upper(left(lower(trim(split_part(trim(name), ' ', 1))),1)), substr(lower(trim(split_part(trim(name), ' ', 1))),2)) AS first, translate(upper(country), 'ABC', 'XYZ') AS c, count(*) AS n, min(left(zip,1) || '###' || substr(zip, 5)) AS z, max(regexp_replace(email, '^(.).*@', '\1***@')) AS e FROM customers GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 30
