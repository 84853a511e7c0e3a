-- the kinds of a user as flags and a text
SELECT count(*), sum(CASE WHEN bought THEN 1 ELSE 0 END), max(kinds), min(kinds) FROM (
        SELECT user_id, bool_or(kind = 'buy') AS bought, string_agg(DISTINCT kind, ',' ORDER BY kind) AS kinds FROM events GROUP BY user_id) AS ans
