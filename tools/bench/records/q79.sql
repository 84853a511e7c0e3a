-- values of keys as rows: jsonb_each_text
SELECT k.key, count(*) AS n, count(DISTINCT k.value) AS d, min(k.value) AS lo FROM orders o, json_each_text(o.attrs) AS k WHERE k.key <> 'flags' AND k.key <> 'utm' GROUP BY k.key ORDER BY k.key
