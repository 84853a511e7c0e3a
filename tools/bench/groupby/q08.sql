-- largest two v3 by id6
SELECT count(*), sum(largest2_v3) FROM (
        SELECT id6, v3 AS largest2_v3 FROM (
                SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS order_v3 FROM g1) AS ranked
        WHERE order_v3 <= 2) AS ans
