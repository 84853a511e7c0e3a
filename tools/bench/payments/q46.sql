-- degrees: cards of a device, devices of a card, neighbours
WITH e AS (SELECT DISTINCT card, device FROM payments WHERE device IS NOT NULL),
dd AS (SELECT device, count(*) AS cards FROM e GROUP BY device),
n AS (SELECT a.card, count(DISTINCT b.card) AS neighbours FROM e a JOIN e b ON b.device = a.device AND b.card <> a.card GROUP BY a.card),
f AS (SELECT e.card, count(*) AS devices, max(dd.cards) AS shared FROM e JOIN dd ON dd.device = e.device GROUP BY e.card)
SELECT f.devices, f.shared, count(*) AS cards, sum(coalesce(n.neighbours, 0)) AS neighbours FROM f LEFT JOIN n ON n.card = f.card GROUP BY f.devices, f.shared ORDER BY f.devices, f.shared
