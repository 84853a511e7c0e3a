-- ages of twins: pairs close in time and amount at one merchant
SELECT a.status, count(*) AS pairs, avg(abs(a.amount - b.amount)) AS off, count(*) FILTER (WHERE a.card = b.card) AS own
FROM payments a JOIN payments b ON b.merchant = a.merchant AND b.paid > a.paid AND b.paid <= a.paid + INTERVAL '1 hour' AND b.id <> a.id GROUP BY a.status ORDER BY a.status
