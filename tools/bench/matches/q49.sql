-- plays while a ban was on
SELECT b.reason, count(*) AS n, count(DISTINCT p.id) AS plays, count(DISTINCT p.player) AS players, avg(extract(epoch FROM p.started - b.since) / 3600) AS hours FROM plays p JOIN bans b ON b.player = p.player AND p.started >= b.since AND p.started < coalesce(b.until, 'infinity'::timestamp) GROUP BY b.reason ORDER BY b.reason
