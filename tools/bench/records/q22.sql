-- names alike within a postal code, by Levenshtein
SELECT a.id AS x, b.id AS y, a.name AS n1, b.name AS n2 FROM customers a JOIN customers b ON substr(a.zip, 1, 3) = substr(b.zip, 1, 3) AND a.id < b.id
WHERE levenshtein(lower(trim(a.name)), lower(trim(b.name))) <= 2 ORDER BY 1, 2 LIMIT 50
