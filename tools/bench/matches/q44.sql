-- pairs of words that follow each other
SELECT w || ' ' || next AS pair, count(*) AS n, count(DISTINCT player) AS p FROM (
  SELECT c.player, lower(t.w) AS w, lower(lead(t.w) OVER (PARTITION BY c.id ORDER BY t.k)) AS next FROM chat c CROSS JOIN LATERAL unnest(string_to_array(c.words, ' ')) WITH ORDINALITY AS t (w, k)) x
WHERE next IS NOT NULL GROUP BY 1 ORDER BY n DESC, pair LIMIT 40
