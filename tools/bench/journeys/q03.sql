-- late flights by hour and weekday
SELECT extract(dow FROM departs) AS d, extract(hour FROM departs) AS h, count(*), sum(delay) FROM flights WHERE delay > 0 GROUP BY 1, 2 ORDER BY 1, 2
