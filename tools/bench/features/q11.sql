-- the time since the event before
SELECT count(*), sum(gap) FROM (
        SELECT extract(epoch FROM ts - lag(ts) OVER (PARTITION BY user_id ORDER BY ts, id)) AS gap FROM events) AS ans WHERE gap IS NOT NULL
