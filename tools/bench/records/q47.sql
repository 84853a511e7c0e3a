-- above the mean of the group
SELECT channel, status, sum(amount) AS s FROM orders GROUP BY channel, status HAVING sum(amount) > (SELECT avg(t) FROM (SELECT sum(amount) AS t FROM orders GROUP BY channel, status) x) ORDER BY s DESC
