-- dot products of vectors with a class's mean
WITH v AS (SELECT p.id, p.label, e.k, e.x::double precision AS x FROM profiles p CROSS JOIN LATERAL unnest(string_to_array(trim(both '{}' FROM p.vec), ',')) WITH ORDINALITY AS e (x, k)),
m AS (SELECT label, k, avg(x) AS mu FROM v GROUP BY label, k),
d AS (SELECT v.id, v.label, sum(v.x * m.mu) FILTER (WHERE m.label = 1) AS to1, sum(v.x * m.mu) FILTER (WHERE m.label = 0) AS to0, sqrt(sum(v.x * v.x) FILTER (WHERE m.label = 0)) AS norm FROM v JOIN m ON m.k = v.k GROUP BY v.id, v.label)
SELECT label, count(*) AS n, avg(to1) AS to1, avg(to0) AS to0, avg(norm) AS norm, count(*) FILTER (WHERE to1 > to0) AS nearer FROM d GROUP BY label ORDER BY label
