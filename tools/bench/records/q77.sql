-- distinct customers of the last seven days, each day
SELECT d.day, (SELECT count(DISTINCT o.customer) FROM orders o WHERE o.placed >= d.day - INTERVAL '6 days' AND o.placed < d.day + INTERVAL '1 day') AS wau FROM (SELECT DISTINCT placed::date AS day FROM orders WHERE placed >= TIMESTAMP '2024-03-01' AND placed < TIMESTAMP '2024-07-01') d ORDER BY 1
