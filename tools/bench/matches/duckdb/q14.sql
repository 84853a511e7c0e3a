-- players who play and do not pay
SELECT country, count(*) AS n, count(*) FILTER (WHERE flags & 1 = 1) AS odd, avg(flags) AS f FROM players x
WHERE EXISTS (SELECT 1 FROM plays p WHERE p.player = x.id AND p.kills > 20) AND NOT EXISTS (SELECT 1 FROM purchases b WHERE b.player = x.id AND b.cents > 1500 AND NOT b.refunded)
  AND x.id NOT IN (SELECT player FROM bans WHERE reason = 'cheat') GROUP BY country ORDER BY country
