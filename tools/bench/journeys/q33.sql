-- tags and likes
SELECT t, count(*), avg(likes), max(posted) FROM (SELECT unnest(string_to_array(tags, ',')) AS t, likes, posted FROM documents) AS x GROUP BY t ORDER BY t
