-- the whole cube of status, channel and month
SELECT status, channel, extract(month FROM placed)::integer AS m, grouping(status, channel) AS g, count(*) AS n, sum(amount) AS s FROM orders GROUP BY CUBE (status, channel), extract(month FROM placed)::integer ORDER BY 4, 1 NULLS LAST, 2 NULLS LAST, 3, n
