-- airports above the mean of their state
SELECT count(*), sum(d) FROM (SELECT f.origin, a.state, avg(f.delay) AS d FROM flights AS f JOIN airports AS a ON a.code = f.origin GROUP BY 1, 2) AS x WHERE d > (SELECT avg(g.delay) FROM flights AS g JOIN airports AS b ON b.code = g.origin WHERE b.state = x.state)
