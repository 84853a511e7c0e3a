-- tags taken apart, by place
SELECT t.tag, t.n, count(*), avg(o.amount) AS a FROM orders o, unnest(string_to_array(o.tags, ',')) WITH ORDINALITY AS t(tag, n) GROUP BY t.tag, t.n ORDER BY t.tag, t.n
