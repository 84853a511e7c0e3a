-- the limit in force at a payment
SELECT l.band, count(*) AS n, avg(p.amount / l.credit) AS used, count(*) FILTER (WHERE p.amount > l.credit) AS over
FROM payments p CROSS JOIN LATERAL (SELECT credit, CASE WHEN credit < 2000 THEN 'low' WHEN credit < 6000 THEN 'mid' ELSE 'high' END AS band FROM limits l WHERE l.card = p.card AND l.valid_from <= p.paid ORDER BY l.valid_from DESC LIMIT 1) l
GROUP BY l.band ORDER BY l.band
