-- moving sums and means of seven events
SELECT count(*), sum(s), sum(m) FROM (
        SELECT sum(price) OVER w AS s, avg(amount) OVER w AS m FROM events
        WINDOW w AS (PARTITION BY user_id ORDER BY ts, id ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)) AS ans
