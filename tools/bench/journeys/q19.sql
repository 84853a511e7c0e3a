-- ntiles of fares within carriers
SELECT t, count(*), min(fare), max(fare) FROM (SELECT ntile(10) OVER (PARTITION BY carrier ORDER BY fare, id) AS t, fare FROM flights) AS x GROUP BY t ORDER BY t
