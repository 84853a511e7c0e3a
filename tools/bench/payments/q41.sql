-- the next payment as a label: in time, same merchant, dearer
SELECT country, count(*) AS n, avg((next_at - paid <= INTERVAL '7 days')::integer) AS soon, avg((next_merchant = merchant)::integer) AS same, avg((next_amount > amount)::integer) AS dearer, count(*) FILTER (WHERE next_at IS NULL) AS last
FROM (SELECT country, paid, merchant, amount, lead(paid) OVER w AS next_at, lead(merchant) OVER w AS next_merchant, lead(amount) OVER w AS next_amount FROM payments WINDOW w AS (PARTITION BY card ORDER BY paid, id)) t
GROUP BY country ORDER BY country
