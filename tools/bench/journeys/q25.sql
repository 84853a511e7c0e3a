-- running position
SELECT count(*), max(p), min(p), sum(p) FROM (SELECT sum(CASE side WHEN 'B' THEN size ELSE -size END) OVER (PARTITION BY sym ORDER BY ts, id) AS p FROM trades) AS x
