-- medium inner on factor, kept
DROP TABLE IF EXISTS jans;
-- timed
CREATE TABLE jans AS SELECT jx.*, jmedium.id1 AS medium_id1, jmedium.id2 AS medium_id2, jmedium.id4 AS medium_id4, v2 FROM jx JOIN jmedium USING (id5);
