-- the path of a user's events
SELECT count(*), sum(length(p)), min(p) FROM (SELECT user_id, string_agg(kind, '>' ORDER BY ts, id) AS p FROM events GROUP BY user_id) AS ans
