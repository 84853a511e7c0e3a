-- parts of addresses in the payload, and how many cards share them
SELECT split_part(payload ->> 'ip', '.', 2) || '.' || split_part(payload ->> 'ip', '.', 3) AS net, count(*) AS n, count(DISTINCT card) AS cards, max((payload ->> 'risk')::numeric) AS risk, bool_and(coalesce((payload -> 'tds' ->> 'ok')::boolean, true)) AS ok
FROM payments GROUP BY 1 ORDER BY cards DESC, net LIMIT 25
