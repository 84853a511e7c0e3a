-- sessions by gaps of three days
WITH m AS (SELECT card, paid, amount, merchant, CASE WHEN paid - lag(paid) OVER (PARTITION BY card ORDER BY paid, id) <= INTERVAL '3 days' THEN 0 ELSE 1 END AS start FROM payments),
s AS (SELECT card, paid, amount, merchant, sum(start) OVER (PARTITION BY card ORDER BY paid ROWS UNBOUNDED PRECEDING) AS session FROM m),
f AS (SELECT card, session, count(*) AS n, sum(amount) AS total, max(paid) - min(paid) AS length, count(DISTINCT merchant) AS shops FROM s GROUP BY card, session)
SELECT least(n, 12) AS size, count(*) AS sessions, sum(total) AS total, avg(extract(epoch FROM length)) AS seconds, sum(shops) AS shops FROM f GROUP BY 1 ORDER BY 1
