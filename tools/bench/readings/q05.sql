-- means of the hour before by time
SELECT count(*), sum(m), max(n) FROM (
        SELECT avg(pressure) OVER w AS m, count(*) OVER w AS n FROM readings
        WINDOW w AS (PARTITION BY machine ORDER BY ts RANGE BETWEEN INTERVAL '1 hour' PRECEDING AND CURRENT ROW)) AS ans
