-- columns turned to rows by UNION ALL, described
WITH u AS (
  SELECT 'x01' AS name, x01 AS v FROM profiles UNION ALL SELECT 'x02', x02 FROM profiles UNION ALL SELECT 'x03', x03 FROM profiles UNION ALL SELECT 'x04', x04 FROM profiles UNION ALL SELECT 'x05', x05 FROM profiles
  UNION ALL SELECT 'x06', x06 FROM profiles UNION ALL SELECT 'x07', x07 FROM profiles UNION ALL SELECT 'x08', x08 FROM profiles UNION ALL SELECT 'x09', x09 FROM profiles UNION ALL SELECT 'x10', x10 FROM profiles
  UNION ALL SELECT 'x11', x11 FROM profiles UNION ALL SELECT 'x12', x12 FROM profiles UNION ALL SELECT 'x13', x13 FROM profiles UNION ALL SELECT 'x14', x14 FROM profiles UNION ALL SELECT 'x15', x15 FROM profiles)
SELECT name, count(*) AS n, count(v) AS known, avg(v) AS mean, stddev_samp(v) AS sd, min(v) AS least, max(v) AS greatest, count(DISTINCT v) AS values_, percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS med FROM u GROUP BY name ORDER BY name
