-- a median a kind and month
SELECT kind, date_trunc('month', ts) AS m, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM events GROUP BY 1, 2 ORDER BY 1, 2
