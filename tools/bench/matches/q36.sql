-- three newest purchases of each player with the item
SELECT kind, count(*) AS n, sum(cents) AS c, sum(price) AS p, max(bought) AS b FROM players x JOIN LATERAL (SELECT sku, cents, bought FROM purchases b WHERE b.player = x.id AND NOT refunded ORDER BY bought DESC, b.id LIMIT 3) t ON true JOIN items USING (sku) GROUP BY kind ORDER BY kind
