-- who is followed most
SELECT dst, count(*) AS n FROM follows GROUP BY dst ORDER BY n DESC, dst LIMIT 20
