-- trades higher than every trade before
SELECT count(*), sum(size) FROM (SELECT price, size, max(price) OVER (PARTITION BY sym ORDER BY ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS m FROM trades) AS x WHERE price > m
