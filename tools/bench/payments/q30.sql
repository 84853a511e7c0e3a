-- features of words: lengths and shares
SELECT country, avg(length(memo)) AS len, avg(length(regexp_replace(memo, '[^0-9]', '', 'g'))::double precision / length(memo)) AS digits, avg(length(memo) - length(replace(memo, ' ', ''))) AS blanks,
       count(*) FILTER (WHERE memo = upper(memo)) AS shouted, count(*) FILTER (WHERE memo ~ '\*[A-Z0-9]+\*') AS starred, count(*) FILTER (WHERE memo ILIKE '%online%') AS online, count(*) FILTER (WHERE memo LIKE '%ref%') AS refs
FROM payments GROUP BY country ORDER BY country
