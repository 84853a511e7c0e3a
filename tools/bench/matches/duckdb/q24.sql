-- several percentiles at once as an array
SELECT hero, d[1] AS d1, d[2] AS d2, d[3] AS d3, d[4] AS d4, d[5] AS d5, s[1] AS s1, s[2] AS s2, p FROM (SELECT hero, quantile_cont(damage, [0.01, 0.25, 0.5, 0.75, 0.99]) AS d, quantile_disc(score, [0.1, 0.9]) AS s, quantile_disc(ping, 0.5 ORDER BY ping DESC) AS p FROM plays GROUP BY hero) x ORDER BY hero
