-- delay classes
SELECT CASE WHEN delay IS NULL THEN 'none' WHEN delay < 0 THEN 'early' WHEN delay < 15 THEN 'on time' WHEN delay < 60 THEN 'late' ELSE 'very late' END AS c, count(*), avg(distance), min(departs), max(departs) FROM flights GROUP BY 1 ORDER BY 1
