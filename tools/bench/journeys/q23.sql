-- the last quote before a trade
SELECT t.side, count(*), sum(t.size) FILTER (WHERE t.price > q.ask), count(*) FILTER (WHERE t.ts - q.ts <= INTERVAL '1 second'), sum(q.bid)
FROM trades AS t ASOF JOIN quotes AS q ON t.sym = q.sym AND t.ts >= q.ts
GROUP BY t.side ORDER BY t.side
