-- how similar are names: trigrams by hand
WITH t AS (SELECT id, substr(lower(trim(name)), i, 3) AS g FROM customers, generate_series(1, 8) AS s(i) WHERE id % 10 = 0), p AS (SELECT a.id AS x, b.id AS y, count(*) AS n FROM t a JOIN t b ON a.g = b.g AND a.id < b.id GROUP BY a.id, b.id)
SELECT n, count(*) FROM p WHERE n > 3 GROUP BY n ORDER BY n
