-- fields of nested documents
SELECT meta::json ->> 'lang' AS lang, count(*), sum((meta::json ->> 'n')::integer), count(DISTINCT meta::json -> 'by' ->> 'name') FROM documents GROUP BY 1 ORDER BY 1
