-- a log's line taken apart by regular expressions
SELECT substring(line from 'pump-([0-9]+)') AS pump, substring(line from '\[([A-Z]+)\]') AS level, count(*), avg(substring(line from 'temp=([0-9.]+)')::numeric) AS temp, max(substring(line from 'vib=([0-9.]+)')::numeric) AS vib
FROM logs GROUP BY 1, 2 ORDER BY 1, 2
