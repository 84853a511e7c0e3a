-- Readings of a thousand machines in the order of their time, orders with their customers and products, and
-- notes in words. The numbers are made from the row number by squaring modulo a prime, so that every engine
-- makes the same rows without a file.
CREATE TABLE readings AS
SELECT i AS id,
       'm-' || lpad((a % 1000)::text, 4, '0') AS machine,
       'site ' || (a % 1000 % 12) AS site,
       TIMESTAMPTZ '2025-03-01 00:00:00+00' + (i * 2 + b % 120)::integer * INTERVAL '1 second' AS ts,
       CASE WHEN c % 50 > 0 THEN 20 + a % 1000 % 17 + (c % 10000)::double precision / 1000 END AS temp,
       CASE WHEN d % 9 > 0 THEN (d % 1000)::double precision / 10 + 900 END AS pressure,
       CASE WHEN e % 400 > 0 THEN (e % 100000)::double precision / 100000 END AS vibration,
       CASE WHEN f % 100 < 90 THEN 0 WHEN f % 100 < 97 THEN f % 4 + 1 WHEN f % 100 < 99 THEN 16 END::smallint AS status,
       CASE WHEN g % 30 > 0 THEN g % 7 = 0 END AS alarm
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g
        FROM (
                SELECT i, i * 48271 % 2147483647 AS x1, i * 69621 % 2147483629 AS x2, i * 16807 % 2147483587 AS x3,
                       i * 40692 % 2147483579 AS x4, i * 40014 % 2147483563 AS x5, i * 39373 % 2147483549 AS x6,
                       i * 30269 % 2147483543 AS x7
                FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS orders;
CREATE TABLE orders AS
SELECT i AS order_id,
       'C' || lpad((least(a % :users, b % :users))::text, 6, '0') AS customer,
       'P-' || lpad((least(c % 2000, d % 2000))::text, 4, '0') AS product,
       DATE '2023-01-01' + (e % 1000)::integer AS ordered,
       CASE WHEN f % 25 > 0 THEN DATE '2023-01-01' + (e % 1000 + f % 12)::integer END AS delivered,
       (g % 9 + 1)::smallint AS quantity,
       CASE WHEN h % 40 > 0 THEN ((h % 90000)::numeric(12,2) / 100)::numeric(12,2) END AS amount,
       g % 8 <> 1 AS paid,
       CASE h % 5 WHEN 0 THEN 'web' WHEN 1 THEN 'Web' WHEN 2 THEN 'store' WHEN 3 THEN 'phone' END AS channel
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g, x8 * x8 % 2147483497 AS h
        FROM (
                SELECT i, i * 69621 % 2147483647 AS x1, i * 48271 % 2147483629 AS x2, i * 40692 % 2147483587 AS x3,
                       i * 16807 % 2147483579 AS x4, i * 39373 % 2147483563 AS x5, i * 40014 % 2147483549 AS x6,
                       i * 30323 % 2147483543 AS x7, i * 30269 % 2147483497 AS x8
                FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 3 = 0) AS x) AS y;
DROP TABLE IF EXISTS customers;
CREATE TABLE customers AS
SELECT 'C' || lpad(i::text, 6, '0') AS customer,
       CASE WHEN i % 77 > 0 THEN 'name ' || (a % 5000) || ' of street ' || (b % 300) END AS name,
       CASE WHEN b % 20 > 0 THEN DATE '1940-01-01' + (a % 25000)::integer END AS born,
       DATE '2020-01-01' + (b % 1100)::integer AS joined,
       CASE WHEN a % 30 > 0 THEN 'country ' || (a % 45) END AS country,
       (b % 5)::smallint AS segment
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b
        FROM (SELECT i, (i + 7) * 48271 % 2147483647 AS x1, (i + 11) * 69621 % 2147483629 AS x2 FROM generate_series(0::bigint, :users::bigint - 1) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS products;
CREATE TABLE products AS
SELECT 'P-' || lpad(i::text, 4, '0') AS product,
       'category ' || (a % 40) AS category,
       ((b % 100000)::numeric(12,2) / 100)::numeric(12,2) AS list,
       CASE WHEN a % 10 > 0 THEN (b % 5000)::double precision / 100 END AS weight,
       DATE '2022-06-01' + (a % 700)::integer AS launched
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b
        FROM (SELECT i, (i + 3) * 40014 % 2147483647 AS x1, (i + 5) * 39373 % 2147483629 AS x2 FROM generate_series(0::bigint, 1999::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS notes;
CREATE TABLE notes AS
SELECT i AS id,
       'C' || lpad((a % :users)::text, 6, '0') AS customer,
       CASE b % 6 WHEN 0 THEN 'Dear team, ' WHEN 1 THEN 'URGENT: ' WHEN 2 THEN 'hello ' WHEN 3 THEN '' WHEN 4 THEN 'Re: order ' || (a % 100000) || ' - ' ELSE 'Good Morning! ' END
           || CASE c % 7 WHEN 0 THEN 'the Pump is leaking' WHEN 1 THEN 'where is my parcel' WHEN 2 THEN 'Invoice ' || (b % 9999) || ' is wrong' WHEN 3 THEN 'thanks, ALL GOOD'
                         WHEN 4 THEN 'please call +44 ' || (c % 10000000) WHEN 5 THEN 'mail me at user' || (d % 5000) || '@mail' || (d % 30) || '.example' ELSE 'motor too hot, stop now' END
           || CASE d % 4 WHEN 0 THEN '!!' WHEN 1 THEN '. Thank you' WHEN 2 THEN ' ' || (e % 1000) || ' times' ELSE '' END AS body,
       CASE WHEN d % 15 > 0 THEN 'red;' || CASE WHEN d % 2 = 0 THEN 'late;' ELSE '' END || 'k' || (e % 40) END AS tags,
       CASE WHEN e % 20 > 0 THEN '{"lang": "' || CASE c % 3 WHEN 0 THEN 'en' WHEN 1 THEN 'de' ELSE 'fr' END || '", "stars": ' || (b % 5 + 1) || ', "by": {"agent": "a' || (a % 200) || '", "minutes": ' || (e % 600)::double precision / 10 || '}}' END AS meta,
       (e % 6 > 2) AS answered
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d, x5 * x5 % 2147483563 AS e
        FROM (
                SELECT i, i * 30307 % 2147483647 AS x1, i * 30269 % 2147483629 AS x2, i * 30323 % 2147483587 AS x3, i * 39373 % 2147483579 AS x4, i * 40014 % 2147483563 AS x5
                FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 6 = 0) AS x) AS y
