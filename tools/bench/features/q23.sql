-- kinds as columns
SELECT count(*), sum(v), sum(c), sum(b), sum(spent), max(last) FROM (
        SELECT user_id, count(*) FILTER (WHERE kind = 'view') AS v, count(*) FILTER (WHERE kind = 'click') AS c, count(*) FILTER (WHERE kind = 'buy') AS b,
               sum(price) FILTER (WHERE kind = 'buy') AS spent, max(ts) FILTER (WHERE kind = 'buy') AS last FROM events GROUP BY user_id) AS ans
