-- how long a ticket stays in each state
WITH n AS (SELECT ticket, state, moment, lead(moment) OVER (PARTITION BY ticket ORDER BY moment, id) AS until FROM changes)
SELECT state, count(*), avg(extract(epoch FROM until - moment)) AS mean, percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM until - moment)) AS median, count(*) FILTER (WHERE until IS NULL) AS still FROM n GROUP BY state ORDER BY state
