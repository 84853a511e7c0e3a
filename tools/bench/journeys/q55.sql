-- keys joined of several columns
SELECT k, count(*) FROM (SELECT carrier || '-' || origin || '-' || extract(month FROM departs)::text AS k FROM flights) AS x GROUP BY k ORDER BY 2 DESC, 1 LIMIT 10
