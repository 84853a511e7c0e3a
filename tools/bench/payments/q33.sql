-- fields of the payload
SELECT payload -> 'tds' ->> 'version' AS tds, count(*) AS n, avg((payload ->> 'risk')::integer) AS risk, count(DISTINCT payload ->> 'ip') AS ips, count(*) FILTER (WHERE (payload -> 'tds' ->> 'ok')::boolean) AS ok,
       count(payload -> 'items') AS carts, avg((payload -> 'items' ->> 0)::integer) AS first
FROM payments GROUP BY 1 ORDER BY 1 NULLS LAST
