DROP TABLE IF EXISTS tall;
-- timed
CREATE TABLE tall AS SELECT * FROM read_parquet(':dir/tall.parquet');
