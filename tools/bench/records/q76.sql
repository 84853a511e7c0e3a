-- the lab before a stay and the next after it
SELECT s.ward, count(*) AS n, count(b.value) AS before, avg(b.value) AS b, avg(a.value) AS a FROM stays s
LEFT JOIN LATERAL (SELECT l.value FROM labs l WHERE l.patient = s.patient AND l.test = 'crp' AND l.taken < s.admitted ORDER BY l.taken DESC, l.id DESC LIMIT 1) b ON true
LEFT JOIN LATERAL (SELECT l.value FROM labs l WHERE l.patient = s.patient AND l.test = 'crp' AND l.taken >= s.admitted ORDER BY l.taken, l.id LIMIT 1) a ON true GROUP BY s.ward ORDER BY s.ward
