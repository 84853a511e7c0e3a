-- hashes as text
SELECT substr(encode(sha256(hero::bytea), 'hex'), 1, 2) AS h, count(*) AS n, min(encode(substr(map, 1, 3)::bytea, 'base64')) AS b, max(upper(md5(map || hero))) AS m, sum(octet_length(build)) AS o FROM plays GROUP BY 1 ORDER BY 1
