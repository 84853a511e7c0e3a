-- big inner on int
SELECT count(*), sum(v1), sum(v2) FROM jx JOIN jbig USING (id3)
