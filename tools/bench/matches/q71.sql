-- the players who bring four fifths of the money
SELECT CASE WHEN before < 0.8 THEN 'A' WHEN before < 0.95 THEN 'B' ELSE 'C' END AS class, count(*) AS n, sum(c) AS c, min(c) AS least FROM (
  SELECT player, sum(cents) AS c, (sum(sum(cents)) OVER (ORDER BY sum(cents) DESC, player) - sum(cents)) * 1.0 / sum(sum(cents)) OVER () AS before FROM purchases WHERE NOT refunded GROUP BY player) x GROUP BY 1 ORDER BY 1
