-- the days between a user's first event and each other
SELECT count(*), sum(d), max(d) FROM (SELECT ts::date - min(ts) OVER (PARTITION BY user_id)::date AS d FROM events) AS ans
