-- turnaround of aircraft
SELECT count(*), avg(extract(epoch FROM t)::double precision), extract(epoch FROM max(t))::double precision FROM (SELECT lead(departs) OVER (PARTITION BY tail ORDER BY departs, id) - departs AS t FROM flights) AS x
