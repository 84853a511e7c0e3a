-- amounts that fade with time
SELECT count(*), sum(s) FROM (
        SELECT user_id, sum(amount * exp(-extract(epoch FROM TIMESTAMP '2026-01-01 00:00:00' - ts)::double precision / 2592000)) AS s FROM events GROUP BY user_id) AS ans
