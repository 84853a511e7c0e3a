-- histogram by width_bucket and equal parts
SELECT width_bucket(value, 0, 160, 16) AS b, count(*), min(value) AS lo, max(value) AS hi FROM labs WHERE value IS NOT NULL GROUP BY 1 ORDER BY 1
