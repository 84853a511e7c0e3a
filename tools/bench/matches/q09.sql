-- ages, birthdays and tenures
SELECT country, extract(year FROM age(DATE '2024-09-01', born))::integer AS years, count(*) AS n, avg(DATE '2024-09-01' - joined) AS tenure, min(date_trunc('quarter', joined))::date AS q,
       count(*) FILTER (WHERE extract(month FROM born) = 2 AND extract(day FROM born) = 29) AS leap, max(make_date(2024, extract(month FROM born)::integer, 1)) AS birthday, max((date_trunc('month', joined) + INTERVAL '1 month - 1 day')::date) AS last
FROM players GROUP BY 1, 2 ORDER BY 1, 2
