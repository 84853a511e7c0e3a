-- channels as columns, by customer
SELECT count(*), sum(web), sum(store), sum(phone), sum(other), max(share) FROM (
        SELECT customer, sum(CASE WHEN lower(channel) = 'web' THEN amount END) AS web, sum(CASE WHEN channel = 'store' THEN amount END) AS store,
               count(*) FILTER (WHERE channel = 'phone') AS phone, count(*) FILTER (WHERE channel IS NULL) AS other,
               avg(CASE WHEN paid THEN 1 ELSE 0 END)::double precision AS share FROM orders GROUP BY customer) AS ans
