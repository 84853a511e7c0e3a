-- scaled to the least and greatest of a card, and the share of its month
SELECT date_part('month', paid) AS month, avg(scaled) AS scaled, avg(share) AS share, max(rank_share) AS top
FROM (
  SELECT paid, (amount - min(amount) OVER c) / nullif(max(amount) OVER c - min(amount) OVER c, 0) AS scaled,
         amount / sum(amount) OVER m AS share, amount / max(amount) OVER m AS rank_share
  FROM payments WINDOW c AS (PARTITION BY card), m AS (PARTITION BY card, date_trunc('month', paid))) t
GROUP BY month ORDER BY month
