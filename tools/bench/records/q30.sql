-- GROUPS frames and EXCLUDE
WITH v AS (SELECT ward, admitted, cost, avg(cost) OVER (PARTITION BY ward ORDER BY admitted GROUPS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW) AS a, count(*) OVER (PARTITION BY ward, doctor ORDER BY admitted ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING EXCLUDE TIES) AS n FROM stays)
SELECT ward, avg(a) AS a, sum(n) AS n, count(*) FILTER (WHERE cost > a) AS above FROM v GROUP BY ward ORDER BY ward
