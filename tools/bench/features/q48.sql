-- amounts cut at their quantiles
SELECT count(*), sum(least(greatest(e.amount, q.lo), q.hi)) FROM events AS e CROSS JOIN (
        SELECT percentile_cont(0.01) WITHIN GROUP (ORDER BY amount) AS lo, percentile_cont(0.99) WITHIN GROUP (ORDER BY amount) AS hi FROM events) AS q
