-- target means of a category without the row
SELECT count(*), sum(e) FROM (SELECT (sum(delay) OVER (PARTITION BY dest) - delay)::double precision / nullif(count(delay) OVER (PARTITION BY dest) - 1, 0) AS e FROM flights WHERE delay IS NOT NULL) AS x
