-- largest trade a symbol
SELECT count(*), sum(size), sum(price) FROM (SELECT DISTINCT ON (sym, side) sym, side, size, price FROM trades ORDER BY sym, side, size DESC, id) AS x
