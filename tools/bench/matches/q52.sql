-- an exponential mean of damage by sums of powers
WITH k AS (SELECT player, damage, row_number() OVER (PARTITION BY player ORDER BY started, id) AS k FROM plays)
SELECT count(*) AS n, avg(e) AS e, stddev_samp(e) AS s, max(e) AS m FROM (SELECT sum(damage * power(1.1, k)) OVER w / sum(power(1.1, k)) OVER w AS e FROM k WINDOW w AS (PARTITION BY player ORDER BY k)) x
