-- medium inner on factor
SELECT count(*), sum(v1), sum(v2) FROM jx JOIN jmedium USING (id5)
