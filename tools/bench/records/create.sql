-- A shop's orders with lines in JSON, its customers, products, prices with validity and subscriptions; machines'
-- logs as text; a clinic's stays and laboratory values; tickets' changes of state; and a bill of materials.
-- The numbers are made from the row number by squaring modulo a prime, so that every engine makes the same
-- rows without a file.
CREATE TABLE orders AS
SELECT i AS id, (least(a, b) % (:rows / 12) + 1)::integer AS customer,
       TIMESTAMP '2023-01-01 00:00:00' + (c % 63072000)::integer * INTERVAL '1 second' AS placed,
       CASE WHEN d % 11 > 1 THEN TIMESTAMP '2023-01-01 00:00:00' + (c % 63072000 + d % 900000)::integer * INTERVAL '1 second' END AS shipped,
       CASE d % 11 WHEN 0 THEN 'cancelled' WHEN 1 THEN 'open' WHEN 2 THEN 'returned' ELSE 'shipped' END AS status,
       CASE e % 7 WHEN 0 THEN 'store' WHEN 1 THEN 'phone' WHEN 2 THEN NULL WHEN 3 THEN 'app' WHEN 4 THEN 'app' ELSE 'web' END AS channel,
       ((f % 50000 + 100)::numeric(12,2) / 100)::numeric(12,2) AS amount,
       CASE WHEN g % 5 = 0 THEN (g % 40)::double precision / 100 END AS discount,
       CASE WHEN h % 9 = 0 THEN 'CP-' || upper(substr(md5((h % 400)::text), 1, 6)) END AS coupon,
       'c' || (e % 31) || CASE WHEN g % 3 = 0 THEN ',gift' ELSE '' END || CASE WHEN h % 4 = 0 THEN ',c' || (h % 31) || ',rush' ELSE '' END AS tags,
       ('[{"sku": "P' || (a % 3000) || '", "qty": ' || (b % 5 + 1) || ', "price": ' || (f % 90 + 5) || '.5}'
        || CASE WHEN c % 2 = 0 THEN ', {"sku": "P' || (d % 800) || '", "qty": ' || (e % 3 + 1) || ', "price": ' || (g % 90 + 5) || '.25}' ELSE '' END
        || CASE WHEN c % 5 = 0 THEN ', {"sku": "P' || (h % 90) || '", "qty": 1, "price": ' || (h % 20 + 1) || ', "gift": true}' ELSE '' END || ']')::json AS items,
       ('{"device": "' || CASE e % 4 WHEN 0 THEN 'ios' WHEN 1 THEN 'android' ELSE 'desktop' END || '", "score": ' || (f % 100)
        || CASE WHEN g % 3 = 0 THEN ', "utm": {"source": "s' || (g % 17) || '", "medium": "' || CASE WHEN h % 2 = 0 THEN 'cpc' ELSE 'mail' END || '"}' ELSE '' END
        || ', "flags": [' || (a % 4) || ', ' || (b % 6) || ']}')::json AS attrs
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g, x8 * x8 % 2147483497 AS h
        FROM (
                SELECT i, i * 48271 % 2147483647 AS x1, i * 69621 % 2147483629 AS x2, i * 16807 % 2147483587 AS x3,
                       i * 40692 % 2147483579 AS x4, i * 40014 % 2147483563 AS x5, i * 39373 % 2147483549 AS x6,
                       i * 30269 % 2147483543 AS x7, i * 30323 % 2147483497 AS x8
                FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS customers;
CREATE TABLE customers AS
SELECT i::integer AS id, CASE a % 5 WHEN 0 THEN ' ' ELSE '' END || chr((65 + a % 26)::integer) || substr(md5((a % 5000)::text), 1, 5) || ' ' || upper(substr(md5((b % 900)::text), 1, 4)) AS name,
       CASE WHEN b % 13 > 0 THEN CASE WHEN b % 2 = 0 THEN 'U' ELSE 'u' END || (i - i % 3 * (a % 2)) || '@' || CASE c % 5 WHEN 0 THEN 'Mail.COM' WHEN 1 THEN 'web.de' ELSE 'shop.example' END END AS email,
       DATE '2022-01-01' + (c % 1000)::integer AS signup, CASE WHEN d % 6 > 0 THEN 'seg' || (d % 6) END AS segment,
       DATE '1940-01-01' + (d % 24000)::integer AS birth, chr((65 + (a % 20))::integer) || chr((65 + (b % 3))::integer) AS country,
       lpad((b % 100000)::text, 5, '0') AS zip
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 40692 % 2147483647 AS x1, i * 40014 % 2147483629 AS x2, i * 16807 % 2147483587 AS x3, i * 39373 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 12 = 0) AS x) AS y;
DROP TABLE IF EXISTS products;
CREATE TABLE products AS
SELECT 'P' || i AS sku, 'Item ' || substr(md5(i::text), 1, 8) AS name,
       CASE i % 4 WHEN 0 THEN 'Home > Kitchen > ' WHEN 1 THEN 'Home > Garden > ' WHEN 2 THEN 'Sport > ' ELSE 'Toys > Kids > ' END || 'K' || (i % 37) AS path,
       CASE WHEN i % 10 > 0 THEN (i * 48271 % 9000)::double precision / 100 END AS weight, DATE '2020-01-01' + (i * 7919 % 1500)::integer AS launched,
       '{' || chr((97 + i % 26)::integer) || ',' || chr((97 + i * 7 % 26)::integer) || ',' || chr((97 + i * 11 % 26)::integer) || '}' AS labels
FROM generate_series(0::bigint, 2999::bigint) AS s (i);
DROP TABLE IF EXISTS prices;
CREATE TABLE prices AS
SELECT 'P' || p AS sku, DATE '2022-12-01' + (v * 90 + p % 30)::integer AS valid_from,
       CASE WHEN v < 9 THEN DATE '2022-12-01' + ((v + 1) * 90 + p % 30)::integer END AS valid_to, (((p * 7919 + v * 48271) % 9000 + 500)::numeric(10,2) / 100)::numeric(10,2) AS price
FROM generate_series(0::bigint, 2999::bigint) AS s (p), generate_series(0::bigint, 9::bigint) AS t (v);
DROP TABLE IF EXISTS subscriptions;
CREATE TABLE subscriptions AS
SELECT i AS id, (a % (:rows / 12) + 1)::integer AS customer, CASE b % 4 WHEN 0 THEN 'free' WHEN 1 THEN 'pro' WHEN 2 THEN 'basic' ELSE 'team' END AS plan,
       DATE '2023-01-01' + (c % 700)::integer AS starts, CASE WHEN d % 3 > 0 THEN DATE '2023-01-01' + (c % 700 + d % 200 + 1)::integer END AS ends,
       (b % 4 * 9.5)::numeric(8,2) AS mrr
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 30269 % 2147483647 AS x1, i * 30323 % 2147483629 AS x2, i * 30307 % 2147483587 AS x3, i * 39373 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 6 = 0) AS x) AS y;
DROP TABLE IF EXISTS logs;
CREATE TABLE logs AS
SELECT i AS n, '2025-03-' || lpad(((i * 28 - i * 28 % (:rows + 1)) / (:rows + 1) + 1)::bigint::text, 2, '0') || 'T' || lpad((a % 24)::text, 2, '0') || ':' || lpad((b % 60)::text, 2, '0') || ':' || lpad((c % 60)::text, 2, '0')
       || 'Z [' || CASE WHEN d % 20 = 0 THEN 'ERROR' WHEN d % 5 = 0 THEN 'WARN' ELSE 'INFO' END || '] pump-' || (a % 200) || ' temp=' || ((b % 900 + 100)::numeric(6,1) / 10)::numeric(5,1)
       || ' vib=0.' || (c % 90 + 10) || CASE WHEN d % 20 = 0 THEN ' code=E' || (100 + d % 40) || ' msg="over limit of ' || (d % 7) || '"' ELSE '' END AS line
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 48271 % 2147483647 AS x1, i * 69621 % 2147483629 AS x2, i * 16807 % 2147483587 AS x3, i * 40692 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS stays;
CREATE TABLE stays AS
SELECT i AS id, (a % (:rows / 10))::integer AS patient, DATE '2022-01-01' + (b % 1400)::integer AS admitted,
       CASE WHEN c % 40 > 0 THEN DATE '2022-01-01' + (b % 1400 + c % 15)::integer END AS discharged,
       'W' || (d % 12) AS ward, 'dr ' || (c % 150) AS doctor, ((d % 900000 + 20000)::numeric(12,2) / 100)::numeric(12,2) AS cost,
       chr((65 + a % 20)::integer) || lpad((b % 90)::text, 2, '0') || '.' || (c % 9) AS dx1, CASE WHEN d % 3 = 0 THEN chr((65 + c % 20)::integer) || lpad((d % 90)::text, 2, '0') || '.' || (a % 9) END AS dx2,
       CASE WHEN d % 7 = 0 THEN chr((65 + b % 20)::integer) || lpad((a % 90)::text, 2, '0') END AS dx3
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 40014 % 2147483647 AS x1, i * 39373 % 2147483629 AS x2, i * 30269 % 2147483587 AS x3, i * 30323 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 2 = 0) AS x) AS y;
DROP TABLE IF EXISTS labs;
CREATE TABLE labs AS
SELECT i AS id, (a % (:rows / 10))::integer AS patient, TIMESTAMP '2022-01-01 06:00:00' + (b % 2016000)::integer * INTERVAL '1 minute' AS taken,
       CASE c % 6 WHEN 0 THEN 'glucose' WHEN 1 THEN 'sodium' WHEN 2 THEN 'crp' WHEN 3 THEN 'hb' ELSE 'creatinine' END AS test,
       CASE WHEN d % 17 > 0 THEN (d % 10000)::double precision / 64 END AS value, CASE WHEN c % 5 = 0 THEN 'mg/dl' ELSE 'mmol/l' END AS unit
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 69621 % 2147483647 AS x1, i * 30307 % 2147483629 AS x2, i * 40692 % 2147483587 AS x3, i * 39373 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS changes;
CREATE TABLE changes AS
SELECT i AS id, (a % (:rows / 5))::integer AS ticket, TIMESTAMP '2025-01-01 00:00:00' + (b % 31536000)::integer * INTERVAL '1 second' AS moment,
       CASE c % 6 WHEN 0 THEN 'new' WHEN 1 THEN 'open' WHEN 2 THEN 'pending' WHEN 3 THEN 'solved' WHEN 4 THEN 'open' ELSE 'closed' END AS state,
       CASE WHEN d % 4 > 0 THEN 'agent ' || (d % 60) END AS agent
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 16807 % 2147483647 AS x1, i * 40014 % 2147483629 AS x2, i * 69621 % 2147483587 AS x3, i * 48271 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS parts;
CREATE TABLE parts AS
SELECT CASE WHEN i > 8 THEN ((i * 2 - i * 2 % 9) / 9)::integer END AS parent, i::integer AS child, (i % 4 + 1)::integer AS qty, (((i * 7919) % 500)::numeric(8,2) / 10)::numeric(8,2) AS cost
FROM generate_series(1::bigint, 30000::bigint) AS s (i);
