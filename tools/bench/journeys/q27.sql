-- correlation of two symbols' minutes
SELECT count(*), corr(a.p, b.p), covar_pop(a.p, b.p) FROM (SELECT date_trunc('minute', ts) AS m, avg(price)::double precision AS p FROM trades WHERE sym < 'S2' GROUP BY 1) AS a JOIN (SELECT date_trunc('minute', ts) AS m, avg(price)::double precision AS p FROM trades WHERE sym >= 'S2' GROUP BY 1) AS b ON a.m = b.m
