-- the mean target of an item, smoothed
SELECT count(*), sum(t) FROM (
        SELECT e.id, (i.s + 20 * g.m) / (i.n + 20) AS t FROM events AS e
        JOIN (SELECT item_id, sum(CASE WHEN kind = 'buy' THEN 1.0::double precision ELSE 0 END) AS s, count(*) AS n FROM events GROUP BY item_id) AS i ON e.item_id = i.item_id
        CROSS JOIN (SELECT avg(CASE WHEN kind = 'buy' THEN 1.0::double precision ELSE 0 END) AS m FROM events) AS g) AS ans
