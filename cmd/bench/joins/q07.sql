-- medium inner on int, kept
DROP TABLE IF EXISTS jans;
-- timed
CREATE TABLE jans AS SELECT jx.*, jmedium.id1 AS medium_id1, jmedium.id4 AS medium_id4, jmedium.id5 AS medium_id5, v2 FROM jx JOIN jmedium USING (id2);
