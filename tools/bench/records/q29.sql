-- sums of the last 30 days by RANGE
WITH v AS (SELECT customer, placed, sum(amount) OVER w AS s30, count(*) OVER w AS n30, max(amount) OVER w AS x30 FROM orders WINDOW w AS (PARTITION BY customer ORDER BY placed RANGE BETWEEN INTERVAL '30 days' PRECEDING AND INTERVAL '1 second' PRECEDING))
SELECT n30, count(*), sum(s30) AS s, max(x30) AS x FROM v GROUP BY n30 ORDER BY n30
