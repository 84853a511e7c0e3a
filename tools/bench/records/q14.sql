-- pairs of tags of one order
WITH t AS (SELECT id, unnest(string_to_array(tags, ',')) AS tag FROM orders)
SELECT a.tag AS x, b.tag AS y, count(*) AS n FROM t a JOIN t b ON a.id = b.id AND a.tag < b.tag GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 30
