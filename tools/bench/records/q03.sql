-- churn label with a window that looks ahead
SELECT date_trunc('quarter', o.placed)::date AS q, count(*) AS n,
       sum(CASE WHEN NOT EXISTS (SELECT 1 FROM orders n WHERE n.customer = o.customer AND n.placed > o.placed AND n.placed <= o.placed + INTERVAL '60 days') THEN 1 ELSE 0 END) AS churned
FROM orders o WHERE o.placed < TIMESTAMP '2024-10-01' GROUP BY 1 ORDER BY 1
