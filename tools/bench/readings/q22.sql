-- the words of notes
SELECT word, count(*), count(DISTINCT customer) FROM (SELECT customer, unnest(string_to_array(lower(body), ' ')) AS word FROM notes) AS x
WHERE length(word) > 3 GROUP BY word ORDER BY count(*) DESC, word LIMIT 30
