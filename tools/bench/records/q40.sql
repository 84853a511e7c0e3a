-- readmitted within thirty days
SELECT s.ward, count(*) AS n, sum(CASE WHEN EXISTS (SELECT 1 FROM stays r WHERE r.patient = s.patient AND r.id <> s.id AND r.admitted BETWEEN s.discharged AND s.discharged + 30) THEN 1 ELSE 0 END) AS again, avg(s.discharged - s.admitted) AS days
FROM stays s WHERE s.discharged IS NOT NULL GROUP BY s.ward ORDER BY s.ward
