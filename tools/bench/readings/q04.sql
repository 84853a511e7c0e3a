-- rolling mean, spread and range of ten readings
SELECT count(*), sum(m), sum(s), max(hi - lo) FROM (
        SELECT avg(temp) OVER w AS m, stddev_samp(temp) OVER w AS s, min(temp) OVER w AS lo, max(temp) OVER w AS hi FROM readings
        WINDOW w AS (PARTITION BY machine ORDER BY ts, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)) AS ans
