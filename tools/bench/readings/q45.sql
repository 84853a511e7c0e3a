-- how temperature goes with pressure, by machine
SELECT count(*), sum(c), sum(s), sum(v) FROM (SELECT machine, corr(temp, pressure) AS c, regr_slope(vibration, temp) AS s, covar_pop(temp, vibration) AS v FROM readings GROUP BY machine) AS ans
