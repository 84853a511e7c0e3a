-- an exponential mean over the day before the end
SELECT machine, sum(temp * w) / sum(w) FILTER (WHERE temp IS NOT NULL) AS ewma FROM (
        SELECT machine, temp, power(0.5, extract(epoch FROM TIMESTAMPTZ '2025-05-10 00:00:00+00' - ts)::double precision / 86400) AS w FROM readings) AS x
GROUP BY machine ORDER BY 2 DESC, 1 LIMIT 20
