-- parts of dates
SELECT y, q, dow, weekend, count(*), sum(amount), avg(left_in_month) FROM (
        SELECT extract(year FROM ordered) AS y, extract(quarter FROM ordered) AS q, extract(dow FROM ordered) AS dow, extract(isodow FROM ordered) IN (6, 7) AS weekend, amount,
               (date_trunc('month', ordered) + INTERVAL '1 month' - INTERVAL '1 day')::date - ordered AS left_in_month FROM orders) AS x GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
