-- nested fields of JSON, with COALESCE
SELECT coalesce(attrs->'utm'->>'source', attrs->>'device', 'none') AS source, attrs#>>'{utm,medium}' AS medium, count(*), avg((attrs->>'score')::integer) AS score, sum(CASE WHEN (attrs->'flags'->>1)::integer = 3 THEN amount END) AS f3
FROM orders GROUP BY 1, 2 ORDER BY 1, 2 NULLS FIRST
