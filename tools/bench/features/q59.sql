-- elements of JSON arrays
SELECT props::json -> 'tags' ->> 0 AS tag, count(*), sum(json_array_length(props::json -> 'tags')), max((props::json ->> 'score')::double precision) FROM events GROUP BY 1 ORDER BY 1
