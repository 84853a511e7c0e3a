-- bins of twenty minutes
SELECT bin, count(*), avg(vibration), count(pressure) FROM (
        SELECT to_timestamp(floor(extract(epoch FROM ts) / 1200) * 1200) AS bin, vibration, pressure FROM readings) AS x GROUP BY bin ORDER BY count(*) DESC, bin LIMIT 50
