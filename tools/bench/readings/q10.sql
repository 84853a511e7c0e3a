-- runs of the same status
SELECT status, count(*), max(n), avg(long) FROM (
        SELECT machine, status, g, count(*) AS n, extract(epoch FROM max(ts) - min(ts))::double precision AS long FROM (
                SELECT machine, status, ts, row_number() OVER (PARTITION BY machine ORDER BY ts, id) - row_number() OVER (PARTITION BY machine, status ORDER BY ts, id) AS g FROM readings) AS x
        GROUP BY machine, status, g) AS ans GROUP BY status ORDER BY status
