-- the parts of addresses
SELECT part, count(*) FROM (SELECT unnest(string_to_array(url, '/')) AS part FROM events) AS x WHERE part <> '' GROUP BY part ORDER BY count(*) DESC, part LIMIT 20
