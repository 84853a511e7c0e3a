-- changes and rates from one reading to the next
SELECT count(rate), sum(abs(change)), max(gap) FROM (
        SELECT temp - lag(temp) OVER w AS change, extract(epoch FROM ts - lag(ts) OVER w)::double precision AS gap,
               (temp - lag(temp) OVER w) / nullif(extract(epoch FROM ts - lag(ts) OVER w)::double precision, 0) AS rate
        FROM readings WINDOW w AS (PARTITION BY machine ORDER BY ts, id)) AS ans
