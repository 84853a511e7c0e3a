-- medium inner on int
SELECT count(*), sum(v1), sum(v2) FROM jx JOIN jmedium USING (id2)
