-- purchases within an hour after a play
SELECT p.map, count(*) AS n, count(DISTINCT b.id) AS bought, avg(extract(epoch FROM (b.bought AT TIME ZONE 'UTC') - p.started)) AS wait, sum(b.cents) FILTER (WHERE p.won) AS happy
FROM plays p JOIN purchases b ON b.player = p.player AND (b.bought AT TIME ZONE 'UTC') >= p.started AND (b.bought AT TIME ZONE 'UTC') < p.started + INTERVAL '1 hour' GROUP BY p.map ORDER BY p.map
