-- small inner on int, kept
DROP TABLE IF EXISTS jans;
-- timed
CREATE TABLE jans AS SELECT jx.*, jsmall.id4 AS small_id4, v2 FROM jx JOIN jsmall USING (id1);
-- kept
SELECT count(*), sum(id1), sum(id2), sum(id3), sum(v1), sum(v2), sum(CAST(substr(id4, 3) AS bigint) * CAST(substr(id5, 3) AS bigint)), sum(CAST(substr(id6, 3) AS bigint) * CAST(substr(small_id4, 3) AS bigint)) FROM jans
