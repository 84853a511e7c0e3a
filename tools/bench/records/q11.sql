-- containment in jsonb
SELECT status, count(*) FILTER (WHERE attrs::jsonb @> '{"device": "ios"}') AS ios, count(*) FILTER (WHERE attrs::jsonb ? 'utm') AS utm, count(*) FILTER (WHERE items::jsonb @> '[{"gift": true}]') AS gifts
FROM orders GROUP BY status ORDER BY status
