-- one-hot columns and bits
SELECT sum((channel = 'web')::integer) AS web, sum((channel = 'app')::integer) AS app, bool_or(amount > 500) AS big, bool_and(amount > 0) AS pos, bit_or(id) AS o, bit_and(customer) AS a, sum((id & 7) << 2) AS b, sum(customer # 5) AS c FROM orders
