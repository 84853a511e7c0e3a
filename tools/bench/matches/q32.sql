-- numbers rounded in several ways
SELECT trunc(damage / 500)::integer AS bin, count(*) AS n, sum(round(score, 1)) AS r, sum(floor(score)) AS f, sum(ceil(damage / 7)) AS c, sum(trunc(score)) AS t, sum(mod(seconds, 7)) AS m, sum(sign(kills - deaths)) AS s, sum(abs(score - 500)) AS a, sum(seconds & 15) AS b, sum((seconds # 5) >> 2) AS x
FROM plays GROUP BY 1 ORDER BY 1
