-- addresses and numbers found in notes
SELECT host, count(*), min(num), max(num) FROM (
        SELECT regexp_replace(body, '^.*?([a-z0-9]+)@([a-z0-9.]+[a-z]).*$', '\2') AS host, regexp_replace(body, '^[^0-9]*([0-9]+).*$', '\1') AS num FROM notes WHERE body ~ '.*@.*') AS x GROUP BY host ORDER BY 2 DESC, 1
