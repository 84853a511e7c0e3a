-- values of keys as rows: jsonb_each_text
SELECT key, count(*) AS n, count(DISTINCT v) AS d, min(v) AS lo FROM (SELECT k.key AS key, k.value->>'$' AS v FROM orders o, json_each(o.attrs) AS k) WHERE key <> 'flags' AND key <> 'utm' GROUP BY key ORDER BY key
