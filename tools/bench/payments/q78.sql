-- pairs of categories crossed, those that tell most
WITH c AS (SELECT x19 || '|' || coalesce(x18, '?') || '|' || region::text AS cross_, count(*) AS n, sum(label) AS bad FROM profiles GROUP BY 1)
SELECT cross_, n, bad, round((bad + 1.0) / (n + 10), 6) AS rate FROM c WHERE n >= 5 ORDER BY rate DESC, cross_ LIMIT 30
