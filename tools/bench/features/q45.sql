-- a grid of kinds and months
SELECT k.kind, m.m, coalesce(c.n, 0), coalesce(c.u, 0) FROM (SELECT DISTINCT kind FROM events) AS k CROSS JOIN (SELECT DISTINCT extract(month FROM ts) AS m FROM events) AS m
LEFT JOIN (SELECT kind, extract(month FROM ts) AS m, count(*) AS n, count(DISTINCT user_id) AS u FROM events WHERE amount > 900 GROUP BY 1, 2) AS c
ON c.kind = k.kind AND c.m = m.m ORDER BY 1, 2
