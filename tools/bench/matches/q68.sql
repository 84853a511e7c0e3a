-- squashing functions of columns
SELECT m10, avg(1 / (1 + exp(-(m1 - 50) / 10))) AS sigmoid, avg(tanh(m7 / 100)) AS tanh, avg(ln(1 + m5)) AS log1p, avg(log(10, (m4 + 1)::numeric)) AS log10, avg(cbrt(m3)) AS cbrt, avg(sign(m1 - 50) * sqrt(abs(m1 - 50))) AS root, sum(greatest(m1 - 20, 0)) AS relu, sum(least(greatest(m2, 10), 300)) AS clip, avg(m1 * m7) AS cross, avg(width_bucket(m1, 0, 100, 10)) AS wb, avg(m11 % 24) AS mod
FROM measures GROUP BY m10 ORDER BY m10
