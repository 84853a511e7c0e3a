-- lengths of a text by group
SELECT kind, avg(length(url)), max(length(url)), min(url) FROM events WHERE url <> '' GROUP BY kind ORDER BY kind
