-- a place in the order of texts
SELECT count(*), sum(r), max(url) FROM (SELECT url, row_number() OVER (ORDER BY url, id) AS r FROM events) AS ans WHERE r % 1000 = 0
