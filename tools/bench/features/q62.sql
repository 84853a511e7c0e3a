-- steps of a funnel
SELECT count(*), count(v), count(c), count(b), avg(extract(epoch FROM b - v)::double precision) FROM (
        SELECT user_id, v, c, b FROM (
                SELECT user_id, min(ts) FILTER (WHERE kind = 'view') AS v, min(ts) FILTER (WHERE kind = 'cart') AS c, min(ts) FILTER (WHERE kind = 'buy') AS b
                FROM events GROUP BY user_id) AS x WHERE v < c AND c < b) AS ans
