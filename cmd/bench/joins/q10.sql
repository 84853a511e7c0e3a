-- big inner on int, kept
DROP TABLE IF EXISTS jans;
-- timed
CREATE TABLE jans AS SELECT jx.*, jbig.id1 AS big_id1, jbig.id2 AS big_id2, jbig.id4 AS big_id4, jbig.id5 AS big_id5, jbig.id6 AS big_id6, v2 FROM jx JOIN jbig USING (id3);
