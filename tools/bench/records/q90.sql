-- anti-join on a range: days without a stay
SELECT w.ward, count(*) AS free FROM (SELECT DISTINCT ward FROM stays) w CROSS JOIN generate_series(TIMESTAMP '2022-01-01', TIMESTAMP '2025-12-31', INTERVAL '1 day') AS c(d)
WHERE NOT EXISTS (SELECT 1 FROM stays s WHERE s.ward = w.ward AND s.doctor = 'dr 7' AND c.d::date BETWEEN s.admitted AND s.discharged) GROUP BY w.ward ORDER BY w.ward
