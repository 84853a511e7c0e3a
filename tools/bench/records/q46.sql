-- EXCEPT ALL and INTERSECT ALL
SELECT (SELECT count(*) FROM (SELECT customer, status FROM orders WHERE id % 2 = 0 EXCEPT ALL SELECT customer, status FROM orders WHERE id % 2 = 1) a) AS a, (SELECT count(*) FROM (SELECT customer, status FROM orders WHERE id % 2 = 0 INTERSECT ALL SELECT customer, status FROM orders WHERE id % 2 = 1) b) AS b
