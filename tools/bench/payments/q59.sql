-- gaps between payments: mean, deviation, burstiness, longest
WITH g AS (SELECT card, extract(epoch FROM paid - lag(paid) OVER (PARTITION BY card ORDER BY paid))::double precision AS gap FROM payments),
f AS (SELECT card, avg(gap) AS mu, stddev_samp(gap) AS sd, max(gap) AS longest, percentile_cont(0.5) WITHIN GROUP (ORDER BY gap) AS med, count(gap) AS n FROM g GROUP BY card HAVING count(gap) > 2)
SELECT least(n, 90) AS n, count(*) AS cards, avg((sd - mu) / (sd + mu)) AS burst, avg(sd / mu) AS cv, max(longest) AS longest, avg(med) AS med FROM f GROUP BY 1 ORDER BY 1
