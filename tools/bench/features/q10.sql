-- the host of an address
SELECT host, count(*), avg(length(url)) FROM (SELECT regexp_replace(url, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS host, url FROM events) AS x
GROUP BY host ORDER BY count(*) DESC, host LIMIT 20
