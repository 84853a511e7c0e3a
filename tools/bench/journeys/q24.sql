-- exponential weights over the last twenty trades
SELECT count(*), sum(m), sum(s) FROM (SELECT avg(price) OVER w AS m, stddev_pop(price::double precision) OVER w AS s FROM trades WINDOW w AS (PARTITION BY sym ORDER BY ts, id ROWS BETWEEN 19 PRECEDING AND CURRENT ROW)) AS x
