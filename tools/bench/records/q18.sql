-- one match of four groups
SELECT m[2] AS level, m[3] AS pump, count(*) AS n, sum(m[4]::numeric) AS temp
FROM (SELECT regexp_match(line, '^(\S+)Z \[(\w+)\] pump-(\d+) temp=([\d.]+)') AS m FROM logs) x GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 20
