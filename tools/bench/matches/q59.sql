-- the target's mean out of the fold, smoothed, of three keys
WITH f AS (SELECT id, id % 5 AS fold, hero, map, role, client, won::integer AS y FROM plays WHERE won IS NOT NULL), g AS (SELECT avg(y) AS prior FROM f),
     a AS (SELECT hero, fold, sum(y) AS s, count(*) AS n FROM f GROUP BY hero, fold), ta AS (SELECT hero, sum(s) AS s, sum(n) AS n FROM a GROUP BY hero),
     b AS (SELECT client, fold, sum(y) AS s, count(*) AS n FROM f GROUP BY client, fold), tb AS (SELECT client, sum(s) AS s, sum(n) AS n FROM b GROUP BY client)
SELECT fold, count(*) AS n, avg((ta.s - a.s + 20 * prior) / (ta.n - a.n + 20)) AS h, avg((tb.s - b.s + 20 * prior) / (tb.n - b.n + 20)) AS c, corr((tb.s - b.s + 20 * prior) / (tb.n - b.n + 20), y) AS r
FROM f CROSS JOIN g JOIN a USING (hero, fold) JOIN ta USING (hero) JOIN b USING (client, fold) JOIN tb USING (client) GROUP BY fold ORDER BY fold
