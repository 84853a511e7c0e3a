-- fields of JSON
SELECT props::json ->> 'device' AS device, props::json ->> 'country' AS country, count(*), sum((props::json ->> 'score')::integer)
FROM events GROUP BY 1, 2 ORDER BY 1, 2
