-- top row of every group by join
SELECT count(*), sum(f.fare::double precision) FROM flights AS f JOIN (SELECT origin, max(delay) AS d FROM flights GROUP BY origin) AS m ON m.origin = f.origin AND m.d = f.delay
