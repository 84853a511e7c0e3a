-- logs and bins
SELECT bin, count(*), avg(l), stddev_samp(l) FROM (SELECT least(floor(ln(1 + amount) * 2), 12) AS bin, ln(1 + amount) AS l FROM events) AS x GROUP BY 1 ORDER BY 1
