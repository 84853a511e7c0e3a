-- mean price by volume
SELECT sym, sum(price * size) / sum(size) AS vwap, count(*), sum(CASE side WHEN 'B' THEN size ELSE -size END) AS net FROM trades GROUP BY sym ORDER BY net DESC, sym LIMIT 20
