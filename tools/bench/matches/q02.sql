-- subtotals by month, week and map with different players
SELECT extract(month FROM started)::integer AS mo, extract(week FROM started)::integer AS wk, map, count(DISTINCT player) AS players, count(DISTINCT match) AS matches, sum(seconds) AS s
FROM plays GROUP BY ROLLUP (1, 2, 3) ORDER BY mo, wk, map
