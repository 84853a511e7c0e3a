-- the three best of each hero, by LATERAL
SELECT h.hero, t.id, t.damage, t.player FROM (SELECT DISTINCT hero FROM plays) h CROSS JOIN LATERAL (SELECT id, damage, player FROM plays p WHERE p.hero = h.hero ORDER BY damage DESC, id FETCH FIRST 3 ROWS ONLY) t ORDER BY 1, 3 DESC, 2
