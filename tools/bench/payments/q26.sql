-- cyclic encodings of hour, weekday and day of the year
SELECT currency, avg(sin(2 * pi() * extract(hour FROM paid) / 24)) AS hs, avg(cos(2 * pi() * extract(hour FROM paid) / 24)) AS hc, avg(sin(2 * pi() * extract(dow FROM paid) / 7)) AS ds,
       avg(cos(2 * pi() * extract(dow FROM paid) / 7)) AS dc, avg(sin(2 * pi() * extract(doy FROM paid) / 366)) AS ys, avg(cos(2 * pi() * extract(doy FROM paid) / 366)) AS yc
FROM payments GROUP BY currency ORDER BY currency
