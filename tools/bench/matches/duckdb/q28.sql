-- objects of a match's players, and fields of them
SELECT count(*) AS n, sum(json_array_length(j)) AS l, max(j->0->>'h') AS h, sum((j->1->>'k')::integer) AS k, sum((o->>'dust')::integer) AS dust FROM (
  SELECT match, to_json(list({'h': hero, 'k': kills, 'w': won} ORDER BY id)) AS j, json_object('dust', count(*) FILTER (WHERE map = 'dust'), 'd', max(damage)) AS o FROM plays WHERE id <= 400000 GROUP BY match) x
