-- filled forward, then back, then by the day's median
WITH g AS (SELECT card, day, balance, count(balance) OVER (PARTITION BY card ORDER BY day) AS fw, count(balance) OVER (PARTITION BY card ORDER BY day DESC) AS bw FROM balances),
f AS (SELECT card, day, balance, first_value(balance) OVER (PARTITION BY card, fw ORDER BY day) AS ahead, first_value(balance) OVER (PARTITION BY card, bw ORDER BY day DESC) AS back FROM g),
m AS (SELECT day, percentile_cont(0.5) WITHIN GROUP (ORDER BY balance) AS med FROM balances GROUP BY day)
SELECT f.day, avg(coalesce(f.ahead, f.back, m.med)) AS mean, count(*) FILTER (WHERE f.ahead IS NULL AND f.back IS NOT NULL) AS by_next, count(*) FILTER (WHERE f.ahead IS NULL AND f.back IS NULL) AS by_median
FROM f JOIN m ON m.day = f.day GROUP BY f.day ORDER BY f.day
