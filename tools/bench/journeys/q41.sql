-- authors' likes as lists
SELECT count(*), sum(length(l)), max(l) FROM (SELECT author, string_agg(likes::text, ',' ORDER BY posted, id) AS l FROM documents GROUP BY author) AS x
