-- small inner on int, kept
DROP TABLE IF EXISTS jans;
-- timed
CREATE TABLE jans AS SELECT jx.*, jsmall.id4 AS small_id4, v2 FROM jx JOIN jsmall USING (id1);
