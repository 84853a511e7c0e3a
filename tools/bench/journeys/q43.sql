-- first documents by author and month since
SELECT m, count(*), sum(likes) FROM (SELECT likes, (extract(year FROM posted) - extract(year FROM f)) * 12 + extract(month FROM posted) - extract(month FROM f) AS m FROM (SELECT likes, posted, min(posted) OVER (PARTITION BY author) AS f FROM documents) AS x) AS y GROUP BY m ORDER BY m
