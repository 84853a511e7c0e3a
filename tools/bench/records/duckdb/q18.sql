-- one match of four groups
SELECT m.level AS level, m.pump AS pump, count(*) AS n, sum(m.temp::decimal(6,1)) AS temp
FROM (SELECT regexp_extract(line, '^(\S+)Z \[(\w+)\] pump-(\d+) temp=([\d.]+)', ['ts', 'level', 'pump', 'temp']) AS m FROM logs) x GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 20
