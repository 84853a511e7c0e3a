-- an amount less its user's mean, over the deviation
SELECT count(z), sum(z), max(z) FROM (
        SELECT (amount - avg(amount) OVER (PARTITION BY user_id)) / nullif(stddev_samp(amount) OVER (PARTITION BY user_id), 0) AS z FROM events) AS ans
