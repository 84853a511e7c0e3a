-- texts that match
SELECT count(*), sum(likes), sum(CASE WHEN body LIKE '%w1 %w2%' THEN 1 ELSE 0 END), sum(CASE WHEN body LIKE 'w3%' THEN 1 ELSE 0 END) FROM documents WHERE body ~ 'w[0-9]5[,.]' OR lower(body) LIKE '%and w7 %'
