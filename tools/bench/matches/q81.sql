-- chat in the minutes of a match, by its rows and the answer to them
SELECT count(*) AS n, sum(said) AS said, avg(wait) AS wait, count(*) FILTER (WHERE answered) AS answered FROM (SELECT p.match, count(c.id) AS said, avg(length(c.words)) AS wait, bool_or(c.player = p.best) AS answered
FROM (SELECT match, min(started) AS s, max(player) AS best FROM plays GROUP BY match) p LEFT JOIN chat c ON c.match = p.match GROUP BY p.match) x
