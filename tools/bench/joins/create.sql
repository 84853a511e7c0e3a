-- The tables of db-benchmark's join task, J1_1e7_NA_0_0 and its small, medium and big
-- ones: a millionth, a thousandth and all of the rows, nine tenths of whose keys are
-- those of the left table, no nulls, unsorted. Rows are made from the row number, so
-- that every engine makes the same ones without a file.
CREATE TABLE jx AS
SELECT (a % :small + 1)::integer AS id1, (b % :medium + 1)::integer AS id2, (c + 1)::integer AS id3,
       'id' || (a % :small + 1)::varchar AS id4, 'id' || (b % :medium + 1)::varchar AS id5, 'id' || (c + 1)::varchar AS id6,
       (g % 100000000)::double precision / 1000000 AS v1
FROM (SELECT x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, c, x3 * x3 % 2147483543 AS g
      FROM (SELECT i * 48271 % 2147483647 AS x1, i * 69621 % 2147483629 AS x2, i * 16807 % :rows AS c, i * 30269 % 2147483543 AS x3
            FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
CREATE TABLE jsmall AS
SELECT (i + :shift1)::integer AS id1, 'id' || (i + :shift1)::varchar AS id4,
       (i * 30323 % 100000000)::double precision / 1000000 AS v2
FROM generate_series(1::bigint, :small::bigint) AS s (i);
CREATE TABLE jmedium AS
SELECT (i % :small + 1)::integer AS id1, (c + :shift2 + 1)::integer AS id2,
       'id' || (i % :small + 1)::varchar AS id4, 'id' || (c + :shift2 + 1)::varchar AS id5,
       (i * 30307 % 100000000)::double precision / 1000000 AS v2
FROM (SELECT i, i * 40693 % :medium AS c FROM generate_series(1::bigint, :medium::bigint) AS s (i)) AS x;
CREATE TABLE jbig AS
SELECT (i % :small + 1)::integer AS id1, (i % :medium + 1)::integer AS id2, (c + :shift3 + 1)::integer AS id3,
       'id' || (i % :small + 1)::varchar AS id4, 'id' || (i % :medium + 1)::varchar AS id5, 'id' || (c + :shift3 + 1)::varchar AS id6,
       (i * 40692 % 100000000)::double precision / 1000000 AS v2
FROM (SELECT i, i * 39373 % :rows AS c FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x;
