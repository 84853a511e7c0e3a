-- one column a country and segment
SELECT count(*), sum(c0), sum(c1), sum(c2), sum(s0), sum(s1), sum(young), sum(age) FROM (
        SELECT CASE WHEN c.country = 'country 1' THEN 1 ELSE 0 END AS c0, CASE WHEN c.country = 'country 2' THEN 1 ELSE 0 END AS c1, CASE WHEN c.country IS NULL THEN 1 ELSE 0 END AS c2,
               (c.segment = 0)::integer AS s0, (c.segment = 1)::integer AS s1, (c.born > DATE '1990-01-01')::integer AS young,
               extract(year FROM o.ordered) - extract(year FROM c.born) AS age FROM orders AS o LEFT JOIN customers AS c ON c.customer = o.customer) AS ans
