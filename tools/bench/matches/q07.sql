-- parts of a build by regular expressions
SELECT (regexp_match(build, 'sword-(\d+)'))[1]::integer AS sword, count(*) AS n, sum(((regexp_match(build, 'shield-(\d+)'))[1])::integer) AS shields, count(*) FILTER (WHERE build ~ ',boots$') AS boots,
       avg(array_length(string_to_array(build, ','), 1)) AS parts, max(regexp_replace(build, '-\d+', '#', 'g')) AS shape FROM plays GROUP BY 1 ORDER BY 1
