-- last known agent carried forward
WITH g AS (SELECT ticket, moment, id, agent, count(agent) OVER (PARTITION BY ticket ORDER BY moment, id) AS grp FROM changes),
f AS (SELECT ticket, moment, coalesce(agent, first_value(agent) OVER (PARTITION BY ticket, grp ORDER BY moment, id)) AS agent FROM g)
SELECT coalesce(agent, 'nobody') AS agent, count(*), count(DISTINCT ticket) AS tickets FROM f GROUP BY 1 ORDER BY 1
