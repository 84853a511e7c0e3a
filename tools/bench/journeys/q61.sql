-- sorted whole
SELECT sum(r * (id % 10)) FROM (SELECT id, row_number() OVER (ORDER BY fare DESC, departs, id) AS r FROM flights) AS x
