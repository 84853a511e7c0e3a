-- The table G1_1e7_1e2_0_0 of db-benchmark: 100 groups of the small keys, a
-- hundred rows to each large key, no nulls, unsorted. The numbers are made from
-- the row number by squaring modulo a prime, so that every engine makes the
-- same rows without a file.
CREATE TABLE g1 AS
SELECT 'id' || lpad((a % 100 + 1)::varchar, 3, '0') AS id1,
       'id' || lpad((b % 100 + 1)::varchar, 3, '0') AS id2,
       'id' || lpad((c % :groups + 1)::varchar, 10, '0') AS id3,
       (d % 100 + 1)::integer AS id4,
       (e % 100 + 1)::integer AS id5,
       (f % :groups + 1)::integer AS id6,
       (h % 5 + 1)::integer AS v1,
       (k % 15 + 1)::integer AS v2,
       (g % 100000000)::double precision / 1000000 AS v3
FROM (
        SELECT x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g, x8 * x8 % 2147483497 AS h,
               x9 * x9 % 2147483489 AS k
        FROM (
                SELECT i * 48271 % 2147483647 AS x1, i * 69621 % 2147483629 AS x2, i * 16807 % 2147483587 AS x3,
                       i * 40692 % 2147483579 AS x4, i * 40014 % 2147483563 AS x5, i * 39373 % 2147483549 AS x6,
                       i * 30269 % 2147483543 AS x7, i * 30323 % 2147483497 AS x8, i * 30307 % 2147483489 AS x9
                FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y
