-- pairs of tags
SELECT split_part(tags, ',', 1) AS a, split_part(tags, ',', 2) AS b, count(*), sum(likes) FROM documents GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 20
