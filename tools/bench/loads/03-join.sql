DROP TABLE IF EXISTS joined;
-- timed
CREATE TABLE joined AS SELECT l.*, o_custkey, o_orderdate, o_totalprice, o_comment FROM lineitem l JOIN orders ON l_orderkey = o_orderkey;
