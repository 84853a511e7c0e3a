-- the limit in force by intervals of validity
WITH v AS (SELECT card, credit, valid_from, coalesce(lead(valid_from) OVER (PARTITION BY card ORDER BY valid_from), DATE '9999-01-01') AS valid_to, row_number() OVER (PARTITION BY card ORDER BY valid_from) AS version FROM limits)
SELECT v.version, count(*) AS n, sum(p.amount) AS spent, avg(v.credit) AS credit FROM payments p JOIN v ON v.card = p.card AND p.paid::date >= v.valid_from AND p.paid::date < v.valid_to GROUP BY v.version ORDER BY v.version
