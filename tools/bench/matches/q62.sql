-- robust scale: median and median of deviations by hero and map
WITH m AS (SELECT hero, map, percentile_cont(0.5) WITHIN GROUP (ORDER BY damage) AS m FROM plays GROUP BY hero, map),
     d AS (SELECT p.hero, p.map, percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(p.damage - m.m)) AS mad FROM plays p JOIN m USING (hero, map) GROUP BY p.hero, p.map)
SELECT p.map, count(*) FILTER (WHERE abs(p.damage - m.m) / (1.4826 * nullif(d.mad, 0)) > 1.5) AS far, sum((p.damage - m.m) / (1.4826 * nullif(d.mad, 0))) AS z FROM plays p JOIN m USING (hero, map) JOIN d USING (hero, map) GROUP BY p.map ORDER BY p.map
