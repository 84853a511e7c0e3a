DROP TABLE IF EXISTS numbers;
CREATE TABLE numbers AS SELECT i AS id, i % 100 AS part, i * 0.5::double precision AS x, 'row ' || i % 1000 AS name FROM generate_series(1, 10000000) AS g(i);
-- timed
UPDATE numbers SET x = x + 1 WHERE id % 10 = 3;
