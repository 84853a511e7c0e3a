-- weekday by part of the day, with totals
SELECT extract(isodow FROM paid)::integer AS dow, CASE WHEN extract(hour FROM paid) < 6 THEN 'night' WHEN extract(hour FROM paid) < 18 THEN 'day' ELSE 'evening' END AS part, count(*) AS n, sum(amount) AS total, avg(fraud) AS rate
FROM payments GROUP BY CUBE (1, 2) ORDER BY 1 NULLS LAST, 2 NULLS LAST
