-- the card's chargebacks that were known before the payment
SELECT least(k.known, 3) AS known, count(*) AS n, avg(k.fraud) AS rate
FROM (SELECT p.id, p.fraud, count(c.payment) AS known FROM payments p LEFT JOIN (SELECT q.card, c.reported, c.payment FROM chargebacks c JOIN payments q ON q.id = c.payment) c ON c.card = p.card AND c.reported < p.paid GROUP BY p.id, p.fraud) k
GROUP BY 1 ORDER BY 1
