-- a score card
SELECT band, count(*), avg(score) AS score FROM (SELECT score, CASE WHEN score >= 60 THEN 'A' WHEN score >= 45 THEN 'B' WHEN score >= 30 THEN 'C' ELSE 'D' END AS band FROM (
  SELECT CASE WHEN c.segment IS NULL THEN 0 WHEN c.segment IN ('seg1', 'seg2') THEN 15 ELSE 5 END + CASE WHEN c.country LIKE 'A%' THEN 10 WHEN c.country > 'M' THEN 4 ELSE 7 END
       + CASE WHEN o.amount < 50 THEN 1 WHEN o.amount < 150 THEN 5 WHEN o.amount < 300 THEN 12 ELSE 20 END + CASE o.channel WHEN 'web' THEN 3 WHEN 'app' THEN 9 WHEN 'store' THEN 6 ELSE 0 END
       + CASE WHEN o.discount IS NULL THEN 8 WHEN o.discount > 0.2 THEN -4 ELSE 2 END + CASE WHEN o.shipped - o.placed < INTERVAL '3 days' THEN 10 WHEN o.shipped IS NULL THEN -5 ELSE 3 END AS score
  FROM orders o JOIN customers c ON c.id = (o.customer * 12)) s) b GROUP BY band ORDER BY band
