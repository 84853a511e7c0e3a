-- who leaves: counts of three windows before a day, nobody seen for a fortnight after it
SELECT leaves, count(*) AS n, avg(w) AS w, avg(m) AS m, avg(q) AS q, avg(r) AS r, avg(w / nullif(m, 0.0)) AS trend, avg(heroes) AS heroes FROM (
  SELECT p.player, count(*) FILTER (WHERE started >= TIMESTAMP '2024-07-01' - INTERVAL '1 week') AS w, count(*) FILTER (WHERE started >= TIMESTAMP '2024-07-01' - INTERVAL '30 days') AS m, count(*) AS q,
         extract(epoch FROM TIMESTAMP '2024-07-01' - max(started)) / 86400 AS r, count(DISTINCT hero) AS heroes,
         NOT EXISTS (SELECT 1 FROM plays l WHERE l.player = p.player AND l.started >= TIMESTAMP '2024-07-01' AND l.started < TIMESTAMP '2024-07-01' + INTERVAL '2 days') AS leaves
  FROM plays p WHERE started < TIMESTAMP '2024-07-01' AND started >= TIMESTAMP '2024-04-02' GROUP BY p.player) x GROUP BY leaves ORDER BY leaves
