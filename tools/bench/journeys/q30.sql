-- quotes without a trade at their price
SELECT count(*), sum(ask - bid) FROM quotes AS q WHERE NOT EXISTS (SELECT 1 FROM trades AS t WHERE t.sym = q.sym AND t.price = q.bid)
