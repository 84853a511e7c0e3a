-- readings at a quarter and nine tenths of a site and day
SELECT count(*), sum(a), sum(b), sum(iqr) FROM (
        SELECT site, ts::date AS d, percentile_cont(0.25) WITHIN GROUP (ORDER BY temp) AS a, percentile_cont(0.9) WITHIN GROUP (ORDER BY temp) AS b,
               percentile_cont(0.75) WITHIN GROUP (ORDER BY pressure) - percentile_cont(0.25) WITHIN GROUP (ORDER BY pressure) AS iqr
        FROM readings GROUP BY site, ts::date) AS ans
