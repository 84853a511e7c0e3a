-- the share of readings, and of time, above a threshold
SELECT machine, avg(CASE WHEN temp > 40 THEN 1.0::double precision ELSE 0 END) AS share,
       sum(CASE WHEN temp > 40 THEN held ELSE 0 END) / sum(held) AS time_share FROM (
        SELECT machine, temp, extract(epoch FROM lead(ts) OVER (PARTITION BY machine ORDER BY ts, id) - ts)::double precision AS held FROM readings) AS x
GROUP BY machine ORDER BY 3 DESC, 1 LIMIT 25
