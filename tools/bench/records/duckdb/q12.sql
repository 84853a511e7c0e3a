-- an object of totals a customer, and what its keys are
WITH c AS (SELECT customer, coalesce(channel, 'none') AS channel, sum(amount) AS total FROM orders GROUP BY 1, 2),
o AS (SELECT customer, json_group_object(channel, total) AS totals FROM c GROUP BY customer)
SELECT count(*), sum((totals->>'web')::decimal(12,2)) AS web, count(totals->>'none') AS none FROM o
