-- numbers in words
SELECT count(*), sum(n), max(n) FROM (SELECT (regexp_replace(split_part(body, ' ', 2), '[^0-9]', '', 'g'))::integer AS n FROM documents) AS x
