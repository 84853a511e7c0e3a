-- rollup of year, quarter, month
SELECT y, q, m, count(*), avg(delay) FROM (SELECT extract(year FROM departs) AS y, extract(quarter FROM departs) AS q, extract(month FROM departs) AS m, delay FROM flights) AS x GROUP BY ROLLUP (y, q, m) ORDER BY y NULLS LAST, q NULLS LAST, m NULLS LAST
