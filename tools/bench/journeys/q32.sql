-- words counted
SELECT w, count(*) AS n FROM (SELECT unnest(string_to_array(lower(body), ' ')) AS w FROM documents) AS x GROUP BY w ORDER BY n DESC, w LIMIT 20
