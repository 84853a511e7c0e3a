-- the last five channels of a card in words
WITH r AS (SELECT card, coalesce(channel, '-') AS channel, row_number() OVER (PARTITION BY card ORDER BY paid DESC, id DESC) AS k FROM payments),
s AS (SELECT card, string_agg(channel, '>' ORDER BY k) AS path FROM r WHERE k <= 5 GROUP BY card)
SELECT path, count(*) AS n FROM s GROUP BY path ORDER BY n DESC, path LIMIT 30
