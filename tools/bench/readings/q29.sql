-- tenths by value and equal bins
SELECT t, b, count(*), min(temp), max(temp) FROM (
        SELECT ntile(10) OVER (ORDER BY temp, id) AS t, least(greatest(floor((temp - 20) / 5), 0), 8) AS b, temp FROM readings WHERE temp IS NOT NULL) AS x GROUP BY 1, 2 ORDER BY 1, 2
