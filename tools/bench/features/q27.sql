-- sessions: events less than half an hour apart
SELECT count(*), max(n), sum(spent) FROM (
        SELECT user_id, s, count(*) AS n, sum(price) AS spent FROM (
                SELECT user_id, price, sum(new) OVER (PARTITION BY user_id ORDER BY ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s FROM (
                        SELECT user_id, id, ts, price, CASE WHEN ts - lag(ts) OVER (PARTITION BY user_id ORDER BY ts, id) < INTERVAL '30 minutes' THEN 0 ELSE 1 END AS new
                        FROM events) AS g) AS n GROUP BY user_id, s) AS ans
