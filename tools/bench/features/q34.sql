-- cyclic parts of a time
SELECT count(*), sum(s), sum(c), sum(w) FROM (
        SELECT sin(2 * pi() * extract(hour FROM ts)::double precision / 24) AS s, cos(2 * pi() * extract(month FROM ts)::double precision / 12) AS c,
               CASE WHEN extract(isodow FROM ts) >= 6 THEN 1 ELSE 0 END AS w FROM events) AS ans
