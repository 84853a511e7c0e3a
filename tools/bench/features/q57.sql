-- spent so far, and what part of all
SELECT count(*), sum(c), max(p) FROM (
        SELECT sum(price) OVER (PARTITION BY user_id ORDER BY ts, id) AS c,
               sum(price) OVER (PARTITION BY user_id ORDER BY ts, id)::double precision / sum(price) OVER (PARTITION BY user_id)::double precision AS p FROM events WHERE price > 0) AS ans
