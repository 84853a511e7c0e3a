-- islands of days with stays in a ward
WITH d AS (SELECT DISTINCT ward, doctor, admitted AS day FROM stays),
g AS (SELECT ward, doctor, day, day - (row_number() OVER (PARTITION BY ward, doctor ORDER BY day))::integer AS grp FROM d),
i AS (SELECT ward, doctor, min(day) AS first, max(day) AS last, count(*) AS days FROM g GROUP BY ward, doctor, grp)
SELECT ward, max(days) AS longest, count(*) AS islands, avg(days) AS mean FROM i GROUP BY ward ORDER BY ward
