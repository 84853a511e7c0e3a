-- the first five items of each user, in order
SELECT count(*), sum(n), sum(a) FROM (
        SELECT cardinality(p) AS n, p[1] + p[5] AS a FROM (SELECT user_id, array_agg(item_id ORDER BY ts, id) AS p FROM events GROUP BY user_id) AS x) AS ans
