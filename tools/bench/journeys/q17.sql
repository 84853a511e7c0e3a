-- routes in spring and not in autumn
SELECT count(*), min(origin) FROM (SELECT origin, dest, carrier FROM flights WHERE extract(month FROM departs) BETWEEN 3 AND 4 EXCEPT SELECT origin, dest, carrier FROM flights WHERE extract(month FROM departs) BETWEEN 9 AND 12) AS x
