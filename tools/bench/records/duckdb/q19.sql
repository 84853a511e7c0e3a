-- words of the log, by regexp_split_to_table
SELECT w AS word, count(*) AS n FROM (SELECT unnest(regexp_split_to_array(line, '\s+')) AS w FROM logs WHERE n % 4 = 0) GROUP BY w ORDER BY 2 DESC, 1 LIMIT 25
