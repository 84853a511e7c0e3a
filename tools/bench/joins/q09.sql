-- medium inner on factor, kept
DROP TABLE IF EXISTS jans;
-- timed
CREATE TABLE jans AS SELECT jx.*, jmedium.id1 AS medium_id1, jmedium.id2 AS medium_id2, jmedium.id4 AS medium_id4, v2 FROM jx JOIN jmedium USING (id5);
-- kept
SELECT count(*), sum(id1), sum(id2), sum(id3), sum(v1), sum(v2), sum(CAST(substr(id4, 3) AS bigint) * medium_id1), sum(CAST(substr(id5, 3) AS bigint) * medium_id2), sum(CAST(substr(id6, 3) AS bigint) * CAST(substr(medium_id4, 3) AS bigint)) FROM jans
