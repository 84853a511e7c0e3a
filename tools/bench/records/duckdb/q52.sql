-- histogram by width_bucket and equal parts
SELECT CASE WHEN value < 0 THEN 0 WHEN value >= 160 THEN 17 ELSE floor(value / 10)::integer + 1 END AS b, count(*), min(value) AS lo, max(value) AS hi FROM labs WHERE value IS NOT NULL GROUP BY 1 ORDER BY 1
