-- z-scores of a machine, of a site and hour of the day
SELECT count(z1), count(*) FILTER (WHERE abs(z1) > 1.5), sum(z2) FROM (
        SELECT (temp - avg(temp) OVER (PARTITION BY machine)) / nullif(stddev_pop(temp) OVER (PARTITION BY machine), 0) AS z1,
               (vibration - avg(vibration) OVER (PARTITION BY site, extract(hour FROM ts))) / nullif(stddev_samp(vibration) OVER (PARTITION BY site, extract(hour FROM ts)), 0) AS z2
        FROM readings) AS ans
