-- matrix of transitions of states
WITH n AS (SELECT state, lead(state) OVER (PARTITION BY ticket ORDER BY moment, id) AS next FROM changes)
SELECT state, coalesce(next, '-') AS next, count(*) AS n, round(count(*)::numeric / sum(count(*)) OVER (PARTITION BY state), 4) AS p FROM n GROUP BY 1, 2 ORDER BY 1, 2
