-- length of texts
SELECT length(body) - length(body) % 10 AS l, count(*), sum(length(replace(body, ' ', ''))), sum(length(body) - length(replace(body, 'w', ''))) FROM documents GROUP BY 1 ORDER BY 1
