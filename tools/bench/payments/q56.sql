-- rank of a card among its peers
WITH s AS (SELECT c.tier, c.id, coalesce(sum(p.amount), 0) AS spent FROM cards c LEFT JOIN payments p ON p.card = c.id AND p.status = 'settled' GROUP BY c.tier, c.id),
r AS (SELECT tier, id, spent, percent_rank() OVER (PARTITION BY tier ORDER BY spent) AS pr, cume_dist() OVER (PARTITION BY tier ORDER BY spent) AS cd, ntile(4) OVER (PARTITION BY tier ORDER BY spent, id) AS quartile FROM s)
SELECT tier, quartile, count(*) AS n, min(spent) AS least, max(spent) AS greatest, avg(pr) AS pr, max(cd) AS cd FROM r GROUP BY tier, quartile ORDER BY tier NULLS LAST, quartile
