-- the distinct items of each user
SELECT count(*), sum(n) FROM (SELECT user_id, cardinality(array_agg(DISTINCT item_id)) AS n FROM events GROUP BY user_id) AS ans
