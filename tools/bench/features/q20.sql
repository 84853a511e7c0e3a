-- ranks within a kind
SELECT count(*), sum(p), sum(n) FROM (
        SELECT percent_rank() OVER (PARTITION BY kind ORDER BY price) AS p, ntile(10) OVER (PARTITION BY kind ORDER BY price, id) AS n FROM events) AS ans
