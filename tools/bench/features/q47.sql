-- chains of conditions
SELECT tier, slot, count(*), sum(w) FROM (
        SELECT CASE WHEN price < 10 THEN 'low' WHEN price < 50 THEN 'middle' WHEN price < 90 THEN 'high' ELSE 'top' END AS tier,
               CASE WHEN extract(hour FROM ts) < 6 THEN 'night' WHEN extract(hour FROM ts) < 12 THEN 'morning' WHEN extract(hour FROM ts) < 18 THEN 'day' ELSE 'evening' END AS slot,
               coalesce(amount, price::double precision, 0) * CASE kind WHEN 'buy' THEN 3 WHEN 'cart' THEN 2 WHEN 'return' THEN -1 ELSE 1 END AS w
        FROM events) AS x GROUP BY 1, 2 ORDER BY 1, 2
