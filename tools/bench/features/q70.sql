-- cyclic parts of integers
SELECT count(*), sum(a), sum(b) FROM (SELECT sin(2 * pi() * item_id / 5000) AS a, sqrt(price::double precision) AS b FROM events) AS ans