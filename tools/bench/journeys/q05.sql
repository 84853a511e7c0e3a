-- turnaround of aircraft
SELECT count(*), avg(extract(epoch FROM t)::double precision), max(t) FROM (SELECT lead(departs) OVER (PARTITION BY tail ORDER BY departs, id) - departs AS t FROM flights) AS x
