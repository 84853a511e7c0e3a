-- words by term and document frequency
WITH t AS (SELECT c.player, lower(w.w) AS w FROM chat c, unnest(string_to_array(c.words, ' ')) AS w (w) WHERE length(w.w) > 1),
     d AS (SELECT w, count(DISTINCT player) AS df FROM t GROUP BY w), f AS (SELECT player, w, count(*) AS tf FROM t GROUP BY player, w)
SELECT count(*) AS n, sum(tf * ln(1000.0 / df)) AS s, max(tf) AS most, min(w) AS w, count(DISTINCT w) AS words FROM (SELECT f.*, df, row_number() OVER (PARTITION BY player ORDER BY tf * ln(100000.0 / df) DESC, w) AS k FROM f JOIN d USING (w)) x WHERE k <= 3
