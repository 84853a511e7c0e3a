-- merchants that were new to a card, cumulated
WITH n AS (SELECT card, merchant, paid, (row_number() OVER (PARTITION BY card, merchant ORDER BY paid, id) = 1)::integer AS fresh, id FROM payments),
c AS (SELECT card, paid, fresh, sum(fresh) OVER (PARTITION BY card ORDER BY paid, id) AS seen, row_number() OVER (PARTITION BY card ORDER BY paid, id) AS k FROM n)
SELECT least(k, 30) AS k, count(*) AS n, avg(seen) AS seen, avg(fresh) AS fresh FROM c GROUP BY 1 ORDER BY 1
