-- first and last of a card, and the merchant it goes to most
WITH l AS (SELECT DISTINCT ON (card) card, paid, merchant, amount FROM payments ORDER BY card, paid DESC, id DESC),
f AS (SELECT DISTINCT ON (card) card, paid, merchant, amount FROM payments ORDER BY card, paid, id),
m AS (SELECT card, mode() WITHIN GROUP (ORDER BY country) AS country, mode() WITHIN GROUP (ORDER BY channel) AS channel FROM payments GROUP BY card)
SELECT m.channel, count(*) AS n, count(*) FILTER (WHERE l.merchant = f.merchant) AS same, sum(l.amount - f.amount) AS grown, avg(l.paid::date - f.paid::date) AS days
FROM l JOIN f USING (card) JOIN m USING (card) GROUP BY m.channel ORDER BY m.channel NULLS LAST
