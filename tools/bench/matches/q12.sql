-- spending by month as columns, a row a player
SELECT count(*) AS n, sum(m3) AS m3, sum(m4) AS m4, sum(m5) AS m5, sum(m6) AS m6, sum(m7) AS m7, sum(m8) AS m8, sum(m7 * 1.0 / nullif(m3, 0)) AS growth, max(best) AS best, sum(active) AS active
FROM (SELECT player, coalesce(sum(CASE WHEN extract(month FROM bought) = 3 THEN cents END), 0) AS m3, sum(CASE WHEN extract(month FROM bought) = 4 THEN cents ELSE 0 END) AS m4,
             sum(CASE WHEN extract(month FROM bought) = 5 THEN cents ELSE 0 END) AS m5, sum(CASE WHEN extract(month FROM bought) = 6 THEN cents ELSE 0 END) AS m6,
             sum(CASE extract(month FROM bought) WHEN 7 THEN cents ELSE 0 END) AS m7, sum(CASE extract(month FROM bought) WHEN 8 THEN cents ELSE 0 END) AS m8,
             greatest(max(CASE WHEN currency = 'USD' THEN cents END), max(CASE WHEN currency = 'EUR' THEN cents END), 0) AS best, count(DISTINCT date_trunc('month', bought)) AS active
      FROM purchases GROUP BY player) p
