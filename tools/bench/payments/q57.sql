-- bursts: the busiest hour and day of a card
WITH h AS (SELECT card, date_trunc('hour', paid) AS hour, count(*) AS n, sum(amount) AS total FROM payments GROUP BY card, hour),
d AS (SELECT card, date_trunc('day', hour) AS day, sum(n) AS n, max(total) AS hour_top, max(n) AS hour_n FROM h GROUP BY card, day)
SELECT hour_n, count(*) AS days, sum(n) AS n, max(hour_top) AS top, count(DISTINCT card) AS cards FROM d GROUP BY hour_n ORDER BY hour_n
