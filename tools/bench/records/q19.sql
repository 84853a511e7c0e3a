-- words of the log, by regexp_split_to_table
SELECT w AS word, count(*) AS n FROM logs, regexp_split_to_table(line, '\s+') AS w WHERE n % 4 = 0 GROUP BY w ORDER BY 2 DESC, 1 LIMIT 25
