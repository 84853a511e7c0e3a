-- pairs of words that follow each other
SELECT w || ' ' || next AS pair, count(*) AS n, count(DISTINCT player) AS p FROM (
  SELECT player, lower(w) AS w, lower(lead(w) OVER (PARTITION BY id ORDER BY k)) AS next FROM (SELECT id, player, unnest(string_split(words, ' ')) AS w, generate_subscripts(string_split(words, ' '), 1) AS k FROM chat)) x
WHERE next IS NOT NULL GROUP BY 1 ORDER BY n DESC, pair LIMIT 40
