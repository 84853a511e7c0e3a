-- balances filled forward by counting the known
WITH g AS (SELECT card, day, balance, count(balance) OVER (PARTITION BY card ORDER BY day) AS grp FROM balances),
f AS (SELECT card, day, balance, grp, max(balance) OVER (PARTITION BY card, grp) AS filled, day - min(day) OVER (PARTITION BY card, grp) AS age FROM g)
SELECT day, count(balance) AS known, count(filled) FILTER (WHERE grp > 0) AS filled, avg(filled) AS mean, max(age) AS age FROM f GROUP BY day ORDER BY day
