-- recency, frequency and money of three windows before a day
WITH f AS (
  SELECT card, DATE '2024-10-01' - max(paid)::date AS recency, count(*) FILTER (WHERE paid >= TIMESTAMP '2024-09-24') AS n7, count(*) FILTER (WHERE paid >= TIMESTAMP '2024-09-01') AS n30,
         count(*) FILTER (WHERE paid >= TIMESTAMP '2024-07-03') AS n90, sum(amount) FILTER (WHERE paid >= TIMESTAMP '2024-09-24') AS m7, sum(amount) FILTER (WHERE paid >= TIMESTAMP '2024-09-01') AS m30,
         sum(amount) FILTER (WHERE paid >= TIMESTAMP '2024-07-03') AS m90, count(DISTINCT merchant) FILTER (WHERE paid >= TIMESTAMP '2024-07-03') AS shops90, count(DISTINCT paid::date) AS days
  FROM payments WHERE paid < TIMESTAMP '2024-10-01' GROUP BY card)
SELECT width, count(*) AS cards, sum(n7) AS n7, sum(n30) AS n30, sum(n90) AS n90, sum(coalesce(m7, 0)) AS m7, sum(m30) AS m30, sum(m90) AS m90, avg(m30 / nullif(m90, 0)) AS trend, sum(shops90) AS shops, sum(days) AS days
FROM (SELECT *, CASE WHEN recency <= 3 THEN 'hot' WHEN recency <= 14 THEN 'warm' ELSE 'cold' END AS width FROM f) t GROUP BY width ORDER BY width
