-- random sample by hash and split
SELECT CASE WHEN abs(id * 2654435761 % 100) < 80 THEN 'train' ELSE 'test' END AS s, count(*), avg(delay), avg(fare::double precision) FROM flights GROUP BY 1 ORDER BY 1
