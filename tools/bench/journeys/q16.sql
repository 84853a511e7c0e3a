-- routes flown both ways
SELECT count(*) FROM (SELECT origin, dest FROM flights INTERSECT SELECT dest, origin FROM flights) AS x
