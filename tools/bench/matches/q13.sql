-- bins of a table of values
SELECT b.name, b.lo, count(p.id) AS n, sum(p.cents) AS c, count(DISTINCT p.player) AS players FROM (VALUES (0, 199, 'tiny'), (200, 499, 'small'), (500, 999, 'middle'), (1000, 1999, 'large'), (2000, 9999, 'huge'), (10000, 99999, 'none')) AS b (lo, hi, name)
LEFT JOIN purchases p ON p.cents BETWEEN b.lo AND b.hi GROUP BY b.name, b.lo ORDER BY b.lo
