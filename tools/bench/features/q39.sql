-- a kind's week beside the week before
SELECT kind, w, n, n - lag(n) OVER (PARTITION BY kind ORDER BY w) AS more, s - lag(s, 1, 0.0) OVER (PARTITION BY kind ORDER BY w) AS spent FROM (
        SELECT kind, date_trunc('week', ts) AS w, count(*) AS n, sum(price) AS s FROM events GROUP BY 1, 2) AS x ORDER BY 1, 2
