-- the path of a ticket as text, commonest first
WITH p AS (SELECT ticket, string_agg(state, '>' ORDER BY moment, id) AS path, array_agg(DISTINCT agent) FILTER (WHERE agent IS NOT NULL) AS agents FROM changes GROUP BY ticket)
SELECT path, count(*) AS n, sum(len(agents)) AS agents FROM p GROUP BY path ORDER BY n DESC, path LIMIT 25
