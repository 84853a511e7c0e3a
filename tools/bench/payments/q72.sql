-- age, tenure and generation at the payment
SELECT c.tier, floor(date_part('year', age(p.paid, c.birth::timestamp)) / 10)::integer * 10 AS decade, count(*) AS n, avg(p.paid::date - c.opened) AS tenure, avg(p.amount) AS mean
FROM payments p JOIN cards c ON c.id = p.card GROUP BY 1, 2 ORDER BY 1 NULLS LAST, 2
