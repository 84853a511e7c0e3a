-- tags one row each
SELECT tag, count(*), count(*) FILTER (WHERE answered), avg(length(body)) FROM (SELECT unnest(string_to_array(tags, ';')) AS tag, answered, body FROM notes) AS x GROUP BY tag ORDER BY 2 DESC, 1
