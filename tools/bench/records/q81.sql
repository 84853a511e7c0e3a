-- upserted history: which attribute changed
WITH h AS (SELECT ticket, moment, state, agent, lag(state) OVER w AS ps, lag(agent) OVER w AS pa FROM changes WINDOW w AS (PARTITION BY ticket ORDER BY moment, id))
SELECT count(*) FILTER (WHERE state IS DISTINCT FROM ps) AS s, count(*) FILTER (WHERE agent IS DISTINCT FROM pa) AS a, count(*) FILTER (WHERE (state, agent) IS NOT DISTINCT FROM (ps, pa)) AS same FROM h
