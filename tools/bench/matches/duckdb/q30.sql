-- hashes as text
SELECT substr(sha256(hero), 1, 2) AS h, count(*) AS n, min(to_base64(encode(substr(map, 1, 3)))) AS b, max(upper(md5(map || hero))) AS m, sum(strlen(build)) AS o FROM plays GROUP BY 1 ORDER BY 1
