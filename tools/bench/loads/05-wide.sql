DROP TABLE IF EXISTS wide;
-- timed
CREATE TABLE wide AS SELECT * FROM read_parquet(':dir/wide.parquet');
