-- profiles of the hours as arrays
WITH p AS (
  SELECT card, ARRAY[count(*) FILTER (WHERE extract(hour FROM paid) < 3), count(*) FILTER (WHERE extract(hour FROM paid) BETWEEN 3 AND 5), count(*) FILTER (WHERE extract(hour FROM paid) BETWEEN 6 AND 8),
         count(*) FILTER (WHERE extract(hour FROM paid) BETWEEN 9 AND 11), count(*) FILTER (WHERE extract(hour FROM paid) BETWEEN 12 AND 14), count(*) FILTER (WHERE extract(hour FROM paid) BETWEEN 15 AND 17),
         count(*) FILTER (WHERE extract(hour FROM paid) BETWEEN 18 AND 20), count(*) FILTER (WHERE extract(hour FROM paid) >= 21)] AS hours
  FROM payments GROUP BY card)
SELECT hours[3] AS morning, count(*) AS cards, sum(hours[1] + hours[8]) AS night, max(hours[5]) AS noon FROM p GROUP BY 1 ORDER BY 1
