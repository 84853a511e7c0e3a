DROP TABLE IF EXISTS keyed;
CREATE TABLE keyed (id bigint PRIMARY KEY, part integer, x double precision, name text);
-- timed
INSERT INTO keyed SELECT i, i % 100, i * 0.5::double precision, 'row ' || i % 1000 FROM generate_series(1, 1000000) AS g(i);
