-- upper case and trimmed keys
SELECT upper(trim(substr(body, 1, 4))) AS k, count(*), min(author), max(author) FROM documents GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20
