-- Payments by cards with their places, words and payloads; the cards, the merchants, the chargebacks, limits
-- with validity, balances by day with gaps, holidays, and twenty measures of a customer with a label. The
-- numbers are made from the row number by squaring modulo a prime, so that every engine makes the same rows
-- without a file.
CREATE TABLE payments AS
SELECT i AS id, (least(a, b) % :users + 1)::integer AS card, (least(c, d) % 4000 + 1)::integer AS merchant,
       TIMESTAMP '2024-01-01 00:00:00' + (e % 31622400)::integer * INTERVAL '1 second' AS paid,
       (((f % 1000) * (g % 1000) % 90000 + 99)::numeric(12,2) / 100)::numeric(12,2) AS amount,
       CASE WHEN a % 6 > 0 THEN (h % 1000)::double precision / 128 END AS score,
       CASE b % 9 WHEN 0 THEN 'USD' WHEN 1 THEN 'GBP' WHEN 2 THEN 'CHF' ELSE 'EUR' END AS currency,
       CASE c % 7 WHEN 0 THEN NULL WHEN 1 THEN 'web' WHEN 2 THEN 'web' WHEN 3 THEN 'atm' WHEN 4 THEN 'app' ELSE 'chip' END AS channel,
       chr((65 + d % 18)::integer) || chr((65 + d % 3)::integer) AS country,
       45 + (a % 10000)::double precision / 1000 AS lat, 5 + (b % 9000)::double precision / 1000 AS lon,
       CASE WHEN g % 17 = 0 THEN 'declined' WHEN g % 23 = 0 THEN 'reversed' ELSE 'settled' END AS status,
       CASE h % 5 WHEN 0 THEN 'POS ' WHEN 1 THEN 'ONLINE ' WHEN 2 THEN 'Card purchase ' WHEN 3 THEN 'sepa ' ELSE '' END || 'M' || (c % 4000 + 1)
         || CASE f % 4 WHEN 0 THEN ' ref ' || (f % 1000000) WHEN 1 THEN ' *' || upper(substr(md5((g % 700)::text), 1, 5)) || '* ZURICH' ELSE ' fuel & food' END AS memo,
       CASE WHEN e % 8 > 0 THEN 'd' || (least(a, b) % :users + e % 3) END AS device,
       ('{"ip": "10.' || (a % 4) || '.' || (b % 250) || '.' || (c % 250) || '", "risk": ' || (d % 1000)
         || CASE WHEN e % 3 = 0 THEN ', "tds": {"version": "2.' || (f % 3) || '", "ok": ' || CASE WHEN g % 9 = 0 THEN 'false' ELSE 'true' END || '}' ELSE '' END
         || CASE WHEN h % 4 = 0 THEN ', "items": [' || (a % 9) || ', ' || (b % 9) || ', ' || (c % 9) || ']' ELSE '' END || '}')::json AS payload,
       (f % 97 = 0 OR (g % 41 = 0 AND c % 7 = 1))::integer AS fraud
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g, x8 * x8 % 2147483497 AS h
        FROM (
                SELECT i, i * 40014 % 2147483647 AS x1, i * 30269 % 2147483629 AS x2, i * 48271 % 2147483587 AS x3,
                       i * 69621 % 2147483579 AS x4, i * 16807 % 2147483563 AS x5, i * 30323 % 2147483549 AS x6,
                       i * 39373 % 2147483543 AS x7, i * 40692 % 2147483497 AS x8
                FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS cards;
CREATE TABLE cards AS
SELECT i::integer AS id, (a % (:users * 2) + 1)::integer AS customer, DATE '2015-01-01' + (b % 3200)::integer AS opened,
       CASE c % 5 WHEN 0 THEN 'gold' WHEN 1 THEN 'black' WHEN 2 THEN NULL ELSE 'basic' END AS tier,
       DATE '1945-01-01' + (d % 22000)::integer AS birth, 45 + (a % 10000)::double precision / 1000 AS home_lat, 5 + (b % 9000)::double precision / 1000 AS home_lon,
       chr((65 + c % 18)::integer) || chr((65 + c % 3)::integer) AS country
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 69621 % 2147483647 AS x1, i * 40692 % 2147483629 AS x2, i * 30269 % 2147483587 AS x3, i * 16807 % 2147483579 AS x4
              FROM generate_series(1::bigint, :users::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS merchants;
CREATE TABLE merchants AS
SELECT i::integer AS id, upper(substr(md5(i::text), 1, 6)) || CASE i % 3 WHEN 0 THEN ' Shop' WHEN 1 THEN ' Fuel Station' ELSE ' & Sons' END AS name,
       (5000 + i * i % 60)::integer AS mcc, 45 + (i * 7919 % 10000)::double precision / 1000 AS lat, 5 + (i * 104729 % 9000)::double precision / 1000 AS lon,
       DATE '2010-01-01' + (i * 48271 % 5000)::integer AS since
FROM generate_series(1::bigint, 4000::bigint) AS s (i);
DROP TABLE IF EXISTS chargebacks;
CREATE TABLE chargebacks AS
SELECT id AS payment, (paid + (id % 60)::integer * INTERVAL '1 day')::date AS reported, CASE id % 4 WHEN 0 THEN 'fraud' WHEN 1 THEN 'quality' ELSE 'service' END AS reason
FROM payments WHERE (id * 48271 + merchant) % 50 = 0;
DROP TABLE IF EXISTS limits;
CREATE TABLE limits AS
SELECT c::integer AS card, DATE '2023-11-01' + (v * 61 + c * 7919 % 40)::integer AS valid_from, (500 + (c * 104729 + v * 7919) % 9500)::numeric(10,2) AS credit
FROM generate_series(1::bigint, :users::bigint) AS s (c), generate_series(0::bigint, 6::bigint) AS t (v);
DROP TABLE IF EXISTS balances;
CREATE TABLE balances AS
SELECT c::integer AS card, DATE '2024-01-01' + d::integer AS day, CASE WHEN (c * 48271 + d * 7919) % 7 < 3 THEN ((c * 104729 + d * 48271) % 1000000)::double precision / 64 END AS balance
FROM generate_series(1::bigint, :users::bigint) AS s (c), generate_series(0::bigint, 29::bigint) AS t (d) WHERE (c + d * 3) % 11 > 0;
DROP TABLE IF EXISTS holidays;
CREATE TABLE holidays AS
SELECT DATE '2024-01-01' + (i * i * 13 % 366)::integer AS day, min('holiday ' || i) AS name FROM generate_series(0::bigint, 17::bigint) AS s (i) GROUP BY 1;
DROP TABLE IF EXISTS profiles;
CREATE TABLE profiles AS
SELECT i::integer AS id, (a % 12)::integer AS region, (f % 11 = 0 OR a % 1000 > 950)::integer AS label,
       (a % 1000)::double precision / 8 AS x01, (b % 1000)::double precision / 16 AS x02, CASE WHEN c % 5 > 0 THEN (c % 777)::double precision / 4 END AS x03,
       (d % 1000 + a % 1000)::double precision / 32 AS x04, (e % 31)::double precision AS x05, CASE WHEN f % 9 > 0 THEN (f % 100 * (f % 13))::double precision / 2 END AS x06,
       (g % 5000)::double precision / 64 AS x07, (h % 17 - 8)::double precision AS x08, (a % 500 - b % 400)::double precision / 8 AS x09, (c % 2)::double precision AS x10,
       (a % 100)::integer AS x11, (b % 10)::integer AS x12, CASE WHEN c % 3 > 0 THEN (c % 50000)::integer END AS x13, (d % 7)::integer AS x14, (e % 365)::integer AS x15,
       ((f % 100000)::numeric(10,2) / 100)::numeric(10,2) AS x16, CASE WHEN g % 4 > 0 THEN ((g % 5000)::numeric(10,2) / 100)::numeric(10,2) END AS x17,
       CASE h % 4 WHEN 0 THEN 'low' WHEN 1 THEN 'mid' WHEN 2 THEN 'high' END AS x18, 'z' || (a % 300) AS x19, DATE '2024-01-01' + (b % 300)::integer AS x20,
       '{' || (a % 10) || ',' || (b % 10) || ',' || (c % 10) || ',' || (d % 10) || ',' || (e % 10) || ',' || (f % 10) || ',' || (g % 10) || ',' || (h % 10) || '}' AS vec
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g, x8 * x8 % 2147483497 AS h
        FROM (
                SELECT i, i * 30323 % 2147483647 AS x1, i * 39373 % 2147483629 AS x2, i * 40692 % 2147483587 AS x3,
                       i * 30269 % 2147483579 AS x4, i * 48271 % 2147483563 AS x5, i * 69621 % 2147483549 AS x6,
                       i * 16807 % 2147483543 AS x7, i * 40014 % 2147483497 AS x8
                FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 4 = 0) AS x) AS y;
