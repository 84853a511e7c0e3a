-- standardised within carrier and month
SELECT count(*), sum(z), max(z) FROM (SELECT (fare - avg(fare) OVER w) / nullif(stddev_samp(fare) OVER w, 0) AS z FROM flights WINDOW w AS (PARTITION BY carrier, date_trunc('month', departs))) AS x
