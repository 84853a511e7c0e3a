-- area under the curve of each of nine measures by ranks with ties
SELECT name, (sum(r) FILTER (WHERE label = 1) - count(*) FILTER (WHERE label = 1) * (count(*) FILTER (WHERE label = 1) + 1) / 2.0) / (count(*) FILTER (WHERE label = 1)::double precision * count(*) FILTER (WHERE label = 0)) AS auc, count(*) AS n FROM (
  SELECT name, label, rank() OVER (PARTITION BY name ORDER BY value) + (count(*) OVER (PARTITION BY name, value) - 1) / 2.0 AS r
  FROM measures, LATERAL (VALUES ('m1', m1), ('m2', m2), ('m3', m3), ('m4', m4), ('m5', m5), ('m6', m6), ('m7', m7), ('m8', m8), ('m11', m11::double precision)) AS v (name, value) WHERE value IS NOT NULL) x GROUP BY name ORDER BY name
