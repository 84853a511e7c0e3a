-- medium outer on int
SELECT count(*), sum(v1), sum(v2) FROM jx LEFT JOIN jmedium USING (id2)
