-- several questions about each player as subqueries
SELECT country, count(*) AS n, sum(b) AS b, sum(c) AS c, max(l) AS l, sum(s) AS s, count(*) FILTER (WHERE e) AS e FROM (
  SELECT country, (SELECT count(*) FROM purchases p WHERE p.player = x.id AND p.promo IS NOT NULL) AS b, (SELECT coalesce(sum(cents), 0) FROM purchases p WHERE p.player = x.id AND p.bought >= x.joined) AS c,
         (SELECT max(said) FROM chat c WHERE c.player = x.id AND c.words LIKE 'gg%') AS l, (SELECT avg(score) FROM plays p WHERE p.player = x.id AND p.won) AS s, EXISTS (SELECT 1 FROM bans k WHERE k.player = x.id AND k.until IS NULL) AS e FROM players x) y
GROUP BY country ORDER BY country
