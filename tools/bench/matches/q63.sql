-- first and last by several orders
SELECT count(*) AS n, sum(f.id) AS f, sum(l.id) AS l, sum(b.id) AS b, avg(l.damage - f.damage) AS d, count(*) FILTER (WHERE f.hero = l.hero) AS same FROM (SELECT DISTINCT ON (player) player, id, hero, damage FROM plays ORDER BY player, started, id) f
JOIN (SELECT DISTINCT ON (player) player, id, hero, damage FROM plays ORDER BY player, started DESC, id DESC) l USING (player) JOIN (SELECT DISTINCT ON (player) player, id FROM plays ORDER BY player, won DESC NULLS LAST, score DESC, id) b USING (player)
