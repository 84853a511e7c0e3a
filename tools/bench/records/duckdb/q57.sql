-- splits by hash
SELECT CASE WHEN ('0x' || substr(md5(customer::text), 1, 8))::bigint % 100 < 80 THEN 'train' ELSE 'test' END AS part, count(*), count(DISTINCT customer) AS c FROM orders GROUP BY 1 ORDER BY 1
