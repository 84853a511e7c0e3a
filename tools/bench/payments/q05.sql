-- weight of evidence and information value of deciles
WITH binned AS (SELECT fraud, ntile(10) OVER (ORDER BY amount, id) AS bin FROM payments WHERE status = 'settled'),
g AS (SELECT bin, sum(fraud) AS bad, sum(1 - fraud) AS good FROM binned GROUP BY bin),
w AS (SELECT bin, bad, good, ln((good / sum(good) OVER ()) / (bad / sum(bad) OVER ())) AS woe, good / sum(good) OVER () - bad / sum(bad) OVER () AS d FROM g)
SELECT bin, bad, good, round(woe::numeric, 6) AS woe, round((d * woe)::numeric, 6) AS iv, round((sum(d * woe) OVER ())::numeric, 6) AS total FROM w ORDER BY bin
