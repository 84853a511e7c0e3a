-- rare values as one, frequencies and numbers of labels
WITH c AS (SELECT client, count(*) AS n, count(*) * 1.0 / sum(count(*)) OVER () AS share, dense_rank() OVER (ORDER BY count(*) DESC, client) - 1 AS code FROM plays GROUP BY client)
SELECT CASE WHEN c.share < 0.00149 THEN 'other' ELSE c.client END AS client, count(*) AS n, avg(share) AS f, min(code) AS code, avg(won::integer) AS w, ln(sum((won)::integer) * 1.0 / nullif(sum((NOT won)::integer), 0)) AS logit FROM plays JOIN c USING (client) GROUP BY 1 ORDER BY n DESC, 1 LIMIT 60
