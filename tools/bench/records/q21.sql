-- customers of one address, the latest kept
WITH r AS (SELECT id, lower(trim(email)) AS email, signup, row_number() OVER (PARTITION BY lower(trim(email)) ORDER BY signup DESC, id) AS rn, count(*) OVER (PARTITION BY lower(trim(email))) AS dup FROM customers WHERE email IS NOT NULL)
SELECT split_part(email, '@', 2) AS host, count(*) FILTER (WHERE rn = 1) AS kept, count(*) FILTER (WHERE rn > 1) AS dropped, max(dup) AS most FROM r GROUP BY 1 ORDER BY 1
