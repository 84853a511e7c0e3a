-- parts of a build by regular expressions
SELECT nullif(regexp_extract(build, 'sword-(\d+)', 1), '')::integer AS sword, count(*) AS n, sum(nullif(regexp_extract(build, 'shield-(\d+)', 1), '')::integer) AS shields, count(*) FILTER (WHERE regexp_matches(build, ',boots$')) AS boots,
       avg(CASE WHEN build <> '' THEN len(string_split(build, ',')) END) AS parts, max(regexp_replace(build, '-\d+', '#', 'g')) AS shape FROM plays GROUP BY 1 ORDER BY 1
