-- a log's line taken apart by split_part
SELECT split_part(line, 'T', 1)::date AS day, split_part(split_part(line, '[', 2), ']', 1) AS level, count(*), max(split_part(split_part(line, 'temp=', 2), ' ', 1)::double precision) AS hot
FROM logs GROUP BY 1, 2 ORDER BY 1, 2
