-- the area under the curve by ranks, and the greatest distance of the classes
WITH r AS (SELECT label, x09, rank() OVER (ORDER BY x09) + (count(*) OVER (PARTITION BY x09) - 1) / 2.0 AS rk, sum(label) OVER (ORDER BY x09) AS bad, sum(1 - label) OVER (ORDER BY x09) AS good FROM profiles),
n AS (SELECT sum(label) AS n1, sum(1 - label) AS n0 FROM profiles)
SELECT (sum(rk) FILTER (WHERE label = 1) - max(n1) * (max(n1) + 1) / 2.0)::double precision / (max(n1) * max(n0)) AS auc, max(abs(bad::double precision / n1 - good::double precision / n0)) AS ks FROM r CROSS JOIN n
