-- three values before and one after
SELECT count(*), sum(a), sum(b), sum(c), sum(d) FROM (
        SELECT price - lag(price) OVER w AS a, price - lag(price, 2) OVER w AS b, price - lag(price, 3) OVER w AS c, lead(price) OVER w - price AS d FROM events
        WINDOW w AS (PARTITION BY user_id ORDER BY ts, id)) AS ans
