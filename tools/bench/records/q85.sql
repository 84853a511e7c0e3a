-- the busiest hour of each pump
WITH h AS (SELECT split_part(split_part(line, '] ', 2), ' ', 1) AS pump, substr(line, 12, 2)::integer AS hour, count(*) AS n FROM logs GROUP BY 1, 2)
SELECT DISTINCT ON (pump) pump, hour, n FROM h ORDER BY pump, n DESC, hour
