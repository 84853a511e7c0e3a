DROP TABLE IF EXISTS region;
DROP TABLE IF EXISTS nation;
DROP TABLE IF EXISTS supplier;
DROP TABLE IF EXISTS customer;
DROP TABLE IF EXISTS part;
DROP TABLE IF EXISTS partsupp;
DROP TABLE IF EXISTS orders;
DROP TABLE IF EXISTS lineitem;
-- timed
CREATE TABLE region AS SELECT * FROM read_parquet(':dir/region.parquet');
CREATE TABLE nation AS SELECT * FROM read_parquet(':dir/nation.parquet');
CREATE TABLE supplier AS SELECT * FROM read_parquet(':dir/supplier.parquet');
CREATE TABLE customer AS SELECT * FROM read_parquet(':dir/customer.parquet');
CREATE TABLE part AS SELECT * FROM read_parquet(':dir/part.parquet');
CREATE TABLE partsupp AS SELECT * FROM read_parquet(':dir/partsupp.parquet');
CREATE TABLE orders AS SELECT * FROM read_parquet(':dir/orders.parquet');
CREATE TABLE lineitem AS SELECT * FROM read_parquet(':dir/lineitem.parquet');
