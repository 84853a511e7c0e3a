-- customers seen for the first time, running
WITH f AS (SELECT customer, min(placed::date) AS day FROM orders GROUP BY customer), n AS (SELECT day, count(*) AS fresh FROM f GROUP BY day)
SELECT o.day, o.n, coalesce(n.fresh, 0) AS fresh, sum(coalesce(n.fresh, 0)) OVER (ORDER BY o.day) AS reached FROM (SELECT placed::date AS day, count(DISTINCT customer) AS n FROM orders GROUP BY 1) o LEFT JOIN n ON n.day = o.day ORDER BY o.day
