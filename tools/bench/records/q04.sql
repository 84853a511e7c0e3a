-- leave-one-out encoding of the coupon
WITH t AS (SELECT id, coupon, CASE WHEN status = 'returned' THEN 1::double precision ELSE 0 END AS y FROM orders WHERE coupon IS NOT NULL),
e AS (SELECT id, coupon, (sum(y) OVER (PARTITION BY coupon) - y) / nullif(count(*) OVER (PARTITION BY coupon) - 1, 0) AS loo FROM t)
SELECT coupon, count(*), avg(loo) AS m, min(loo) AS lo FROM e GROUP BY coupon ORDER BY coupon LIMIT 50
