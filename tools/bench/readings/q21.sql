-- counts made of a text
SELECT count(*), sum(n), sum(words), sum(upper_share), sum(digits), sum(marks), count(*) FILTER (WHERE asks) FROM (
        SELECT length(body) AS n, cardinality(string_to_array(body, ' ')) AS words,
               length(regexp_replace(body, '[^A-Z]', '', 'g'))::double precision / nullif(length(body), 0) AS upper_share,
               length(body) - length(translate(body, '0123456789', '')) AS digits, length(body) - length(replace(body, '!', '')) AS marks,
               body LIKE '%where%' OR lower(body) LIKE '%please%' AS asks FROM notes) AS ans
