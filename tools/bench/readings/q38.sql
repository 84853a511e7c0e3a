-- a cube of status, alarm and weekday
SELECT status, alarm, w, count(*), avg(temp), max(vibration) FROM (SELECT status, alarm, extract(isodow FROM ts) AS w, temp, vibration FROM readings) AS x
GROUP BY CUBE (status, alarm, w) ORDER BY 1, 2, 3, 4
