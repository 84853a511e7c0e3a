DROP TABLE IF EXISTS plain;
CREATE TABLE plain (id bigint, part integer, x double precision, name text);
-- timed
INSERT INTO plain SELECT i, i % 100, i * 0.5::double precision, 'row ' || i % 1000 FROM generate_series(1, 1000000) AS g(i);
