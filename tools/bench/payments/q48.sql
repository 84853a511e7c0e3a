-- shares of a card's three dearest merchants
WITH s AS (SELECT card, merchant, sum(amount) AS total FROM payments GROUP BY card, merchant),
r AS (SELECT card, total, row_number() OVER (PARTITION BY card ORDER BY total DESC, merchant) AS k, sum(total) OVER (PARTITION BY card) AS whole FROM s),
t AS (SELECT card, sum(total) FILTER (WHERE k = 1) / max(whole) AS top1, sum(total) FILTER (WHERE k <= 3) / max(whole) AS top3, max(k) AS merchants FROM r GROUP BY card)
SELECT merchants, count(*) AS cards, avg(top1) AS top1, avg(top3) AS top3 FROM t GROUP BY merchants ORDER BY merchants
