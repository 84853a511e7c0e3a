-- an hour's flights from the same airport
SELECT count(*), sum(n), max(n) FROM (SELECT count(*) OVER (PARTITION BY origin ORDER BY departs RANGE BETWEEN INTERVAL '30 minutes' PRECEDING AND INTERVAL '30 minutes' FOLLOWING) AS n FROM flights) AS x
