-- containment in jsonb
SELECT status, count(*) FILTER (WHERE attrs->>'device' = 'ios') AS ios, count(*) FILTER (WHERE json_exists(attrs, 'utm')) AS utm, count(*) FILTER (WHERE json_contains(items, '{"gift": true}')) AS gifts
FROM orders GROUP BY status ORDER BY status
