-- heads and tails of texts, trimmed and turned
SELECT kind, tail, count(*), max(position(' ' IN body)), sum(ascii(body)) FROM (
        SELECT upper(split_part(trim(body), ' ', 1)) AS kind, right(rtrim(body, '!.'), 3) AS tail, body FROM notes) AS x GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 30
