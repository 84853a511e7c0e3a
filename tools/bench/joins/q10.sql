-- big inner on int, kept
DROP TABLE IF EXISTS jans;
-- timed
CREATE TABLE jans AS SELECT jx.*, jbig.id1 AS big_id1, jbig.id2 AS big_id2, jbig.id4 AS big_id4, jbig.id5 AS big_id5, jbig.id6 AS big_id6, v2 FROM jx JOIN jbig USING (id3);
-- kept
SELECT count(*), sum(id1), sum(id2), sum(id3), sum(v1), sum(v2), sum(CAST(substr(id4, 3) AS bigint) * big_id1), sum(CAST(substr(id5, 3) AS bigint) * big_id2), sum(CAST(substr(id6, 3) AS bigint) * CAST(substr(big_id4, 3) AS bigint)), sum(CAST(substr(id6, 3) AS bigint) * CAST(substr(big_id5, 3) AS bigint)), sum(CAST(substr(id6, 3) AS bigint) * CAST(substr(big_id6, 3) AS bigint)) FROM jans
