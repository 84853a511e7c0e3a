-- bans that overlap joined into one
WITH o AS (SELECT player, since, coalesce(until, TIMESTAMP '2024-12-31') AS until, max(coalesce(until, TIMESTAMP '2024-12-31')) OVER (PARTITION BY player ORDER BY since, until ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS seen FROM bans),
     g AS (SELECT *, sum(CASE WHEN seen >= since THEN 0 ELSE 1 END) OVER (PARTITION BY player ORDER BY since, until) AS g FROM o)
SELECT k, count(*) AS n, min(since) AS first, max(until) AS last, avg(extract(epoch FROM until - since)) AS s FROM (SELECT player, g, count(*) AS k, min(since) AS since, max(until) AS until FROM g GROUP BY player, g) x GROUP BY k ORDER BY k
