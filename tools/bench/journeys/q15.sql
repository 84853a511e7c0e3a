-- tails with more than two carriers
SELECT count(*), sum(n) FROM (SELECT tail, count(DISTINCT carrier) AS n, count(DISTINCT origin) AS o FROM flights GROUP BY tail HAVING count(DISTINCT carrier) > 2) AS x
