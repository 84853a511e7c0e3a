-- first and last readings of a day, and the second
SELECT count(*), sum(b - a), sum(c) FROM (
        SELECT first_value(temp) OVER w AS a, last_value(temp) OVER w AS b, nth_value(temp, 2) OVER w AS c, row_number() OVER (PARTITION BY machine, ts::date ORDER BY ts, id) AS r FROM readings
        WINDOW w AS (PARTITION BY machine, ts::date ORDER BY ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS ans WHERE r = 1
