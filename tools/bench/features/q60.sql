-- streaks of days
SELECT count(*), max(n), sum(n) FROM (
        SELECT user_id, g, count(*) AS n FROM (
                SELECT user_id, d - row_number() OVER (PARTITION BY user_id ORDER BY d)::integer AS g FROM (SELECT DISTINCT user_id, ts::date AS d FROM events) AS x) AS y
        GROUP BY user_id, g) AS ans
