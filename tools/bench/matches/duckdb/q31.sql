-- truths as numbers
SELECT (kills > deaths)::integer + (damage > 3000)::integer + coalesce(won::integer, 0) AS grade, coalesce(won, false) AS t, won IS NULL AS u, count(*) AS n, sum((won IS DISTINCT FROM (kills > deaths))::integer) AS odd, sum(((kills > 5) <> (deaths > 5))::integer) AS x, avg((role = 'tank' OR ping > 200)::integer) AS m
FROM plays GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
