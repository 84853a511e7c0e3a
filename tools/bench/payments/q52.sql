-- columns turned to rows by LATERAL VALUES: means by class and their distance
SELECT u.name, avg(u.v) FILTER (WHERE p.label = 1) AS bad, avg(u.v) FILTER (WHERE p.label = 0) AS good, (avg(u.v) FILTER (WHERE p.label = 1) - avg(u.v) FILTER (WHERE p.label = 0)) / stddev_samp(u.v) AS d, corr(u.v, p.label) AS r
FROM profiles p CROSS JOIN LATERAL (VALUES ('x01', p.x01), ('x02', p.x02), ('x03', p.x03), ('x04', p.x04), ('x05', p.x05), ('x06', p.x06), ('x07', p.x07), ('x08', p.x08), ('x09', p.x09), ('x10', p.x10)) AS u (name, v)
GROUP BY u.name ORDER BY u.name
