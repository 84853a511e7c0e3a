-- several distinct counts a user
SELECT count(*), sum(a), sum(b), sum(c) FROM (
        SELECT user_id, count(DISTINCT item_id) AS a, count(DISTINCT kind) AS b, count(DISTINCT ts::date) AS c FROM events GROUP BY user_id) AS ans
