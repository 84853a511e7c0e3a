-- quantiles as a list
SELECT count(*), sum(q[1]), sum(q[2]), sum(q[3]) FROM (
        SELECT item_id, percentile_cont(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY amount) AS q FROM events GROUP BY item_id) AS ans
