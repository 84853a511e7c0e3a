-- a customer's products as a list, looked into
SELECT count(*), sum(n), max(l), sum(place) FROM (
        SELECT cardinality(ps) AS n, ps[cardinality(ps)::integer] AS l, array_position(ps, 'P-0003') AS place FROM (
                SELECT customer, array_agg(product ORDER BY ordered, order_id) AS ps FROM orders GROUP BY customer) AS x) AS ans
