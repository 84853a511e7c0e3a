-- how a hero does against another
SELECT a.hero, b.hero AS against, count(*) AS n, avg(a.won::integer) AS w, avg(a.damage - b.damage) AS d FROM plays a JOIN plays b ON b.match = a.match AND b.team <> a.team WHERE a.role = 'damage' AND b.role = 'tank' AND a.won IS NOT NULL
GROUP BY 1, 2 HAVING count(*) > 100 ORDER BY w DESC, 1, 2 LIMIT 40
