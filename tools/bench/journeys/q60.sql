-- streaks of late flights
SELECT max(n), count(*), avg(n) FROM (SELECT tail, g, count(*) AS n FROM (SELECT tail, delay, sum(CASE WHEN delay > 15 THEN 0 ELSE 1 END) OVER (PARTITION BY tail ORDER BY departs, id) AS g FROM flights) AS x WHERE delay > 15 GROUP BY tail, g) AS y
