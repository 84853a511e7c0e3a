-- the first quote after a trade, of large ones with those that have none
SELECT count(*), count(q.id), sum(q.ask - t.price) FROM trades AS t ASOF LEFT JOIN quotes AS q ON t.sym = q.sym AND t.ts < q.ts WHERE t.size > 400
