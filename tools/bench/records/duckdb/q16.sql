-- a log's line taken apart by regular expressions
SELECT regexp_extract(line, 'pump-([0-9]+)', 1) AS pump, regexp_extract(line, '\[([A-Z]+)\]', 1) AS level, count(*), avg(regexp_extract(line, 'temp=([0-9.]+)', 1)::decimal(6,1)) AS temp, max(regexp_extract(line, 'vib=([0-9.]+)', 1)::decimal(4,2)) AS vib
FROM logs GROUP BY 1, 2 ORDER BY 1, 2
