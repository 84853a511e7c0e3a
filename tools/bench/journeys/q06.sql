-- distances between airports
SELECT count(*), sum(km), max(km) FROM (SELECT 6371 * 2 * asin(sqrt(power(sin(radians(b.lat - a.lat) / 2), 2) + cos(radians(a.lat)) * cos(radians(b.lat)) * power(sin(radians(b.lon - a.lon) / 2), 2))) AS km FROM flights AS f JOIN airports AS a ON a.code = f.origin JOIN airports AS b ON b.code = f.dest) AS x
