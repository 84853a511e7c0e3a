-- purchases fields of JSON beside columns
SELECT meta->>'store' AS store, (meta->>'tries')::integer AS tries, (meta->'gift') IS NOT NULL AS gift, count(*) AS n, sum(cents) AS c, count(DISTINCT (meta->'gift'->>'to')::integer) AS given, max(meta->>'$.gift.to') AS last FROM purchases GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
