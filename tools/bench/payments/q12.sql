-- entropy, Gini and Herfindahl of a card's categories
WITH s AS (SELECT p.card, m.mcc, count(*)::double precision AS n FROM payments p JOIN merchants m ON m.id = p.merchant GROUP BY p.card, m.mcc),
q AS (SELECT card, n / sum(n) OVER (PARTITION BY card) AS p FROM s),
f AS (SELECT card, -sum(p * ln(p)) AS entropy, 1 - sum(p * p) AS gini, sum(power(p, 2)) AS hhi, count(*) AS kinds FROM q GROUP BY card)
SELECT kinds, count(*) AS cards, avg(entropy) AS entropy, avg(gini) AS gini, max(hhi) AS hhi FROM f GROUP BY kinds ORDER BY kinds
