-- how far the ranks of two scores agree
SELECT map, corr(a, b) AS spearman, count(*) AS n, sum(abs(a - b)) AS d FROM (SELECT map, rank() OVER (PARTITION BY map ORDER BY damage) AS a, rank() OVER (PARTITION BY map ORDER BY score) AS b FROM plays WHERE role = 'tank') x GROUP BY map ORDER BY map
