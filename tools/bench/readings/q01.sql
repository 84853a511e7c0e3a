-- readings resampled to hours
SELECT count(*), sum(t), max(p), sum(n) FROM (
        SELECT machine, date_trunc('hour', ts) AS h, avg(temp) AS t, max(pressure) AS p, count(*) AS n FROM readings GROUP BY machine, date_trunc('hour', ts)) AS ans
