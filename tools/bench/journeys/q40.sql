-- authors' gaps in days
SELECT count(*), avg(g), max(g) FROM (SELECT author, posted - lag(posted) OVER (PARTITION BY author ORDER BY posted, id) AS g FROM documents) AS x WHERE g > 0
