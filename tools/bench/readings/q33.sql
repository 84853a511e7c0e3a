-- fields within fields of JSON
SELECT meta::json ->> 'lang' AS lang, meta::json -> 'by' ->> 'agent' AS agent, count(*), avg((meta::json ->> 'stars')::integer)::double precision, sum((meta::json -> 'by' ->> 'minutes')::double precision)
FROM notes GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 40
