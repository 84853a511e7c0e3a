-- cycles of the clock and of the year, weekends and holidays
SELECT coalesce(h.name, 'none') AS holiday, count(*) AS n, avg(sin(2 * pi() * extract(hour FROM started)::double precision / 24)) AS s, avg(cos(2 * pi() * extract(doy FROM started)::double precision / 366)) AS c, count(*) FILTER (WHERE extract(isodow FROM started) IN (6, 7)) AS weekend,
       avg(extract(epoch FROM started - date_trunc('day', started))) AS midnight, min(abs(started::date - DATE '2024-05-01')) AS near, sum(extract(quarter FROM started)::integer) AS q
FROM plays LEFT JOIN (VALUES (DATE '2024-03-29', 'Good Friday'), (DATE '2024-04-01', 'Easter Monday'), (DATE '2024-05-01', 'Labour Day'), (DATE '2024-07-04', 'Independence Day')) AS h (day, name) ON h.day = started::date GROUP BY 1 ORDER BY 1
