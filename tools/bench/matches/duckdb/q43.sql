-- words by term and document frequency
WITH t AS (SELECT player, lower(w) AS w FROM (SELECT player, unnest(string_split(words, ' ')) AS w FROM chat) WHERE length(w) > 1),
     d AS (SELECT w, count(DISTINCT player) AS df FROM t GROUP BY w), f AS (SELECT player, w, count(*) AS tf FROM t GROUP BY player, w)
SELECT count(*) AS n, sum(tf * ln(1000.0 / df)) AS s, max(tf) AS most, min(w) AS w, count(DISTINCT w) AS words FROM (SELECT f.*, df, row_number() OVER (PARTITION BY player ORDER BY tf * ln(100000.0 / df) DESC, w) AS k FROM f JOIN d USING (w)) x WHERE k <= 3
