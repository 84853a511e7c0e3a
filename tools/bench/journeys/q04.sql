-- the previous delay of the same aircraft
SELECT count(*), sum(p), corr(delay, p) FROM (SELECT delay, lag(delay) OVER (PARTITION BY tail ORDER BY departs, id) AS p FROM flights) AS x
