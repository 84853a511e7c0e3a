-- the reading before each alarm of another machine's site
SELECT count(*), count(v.temp), sum(v.temp) FROM (SELECT id, machine, ts FROM readings WHERE status = 16 AND alarm) AS a
CROSS JOIN LATERAL (SELECT r.temp FROM readings AS r WHERE r.machine = a.machine AND r.ts < a.ts ORDER BY r.ts DESC, r.id DESC LIMIT 1) AS v
