-- Kolmogorov and Smirnov's distance of several measures by label
SELECT name, max(abs(a - b)) AS ks, count(*) AS n FROM (
  SELECT name, sum(label) OVER w * 1.0 / sum(label) OVER (PARTITION BY name) AS a, sum(1 - label) OVER w * 1.0 / sum(1 - label) OVER (PARTITION BY name) AS b
  FROM measures CROSS JOIN LATERAL (VALUES ('m1', m1), ('m2', m2), ('m5', m5)) AS v (name, value) WHERE value IS NOT NULL WINDOW w AS (PARTITION BY name ORDER BY value)) x GROUP BY name ORDER BY name
