-- Flights with their airports and aircraft, trades with quotes, documents in words, and who follows whom.
-- The numbers are made from the row number by squaring modulo a prime, so that every engine makes the same
-- rows without a file.
CREATE TABLE flights AS
SELECT i AS id,
       CASE a % 9 WHEN 0 THEN 'AA' WHEN 1 THEN 'BA' WHEN 2 THEN 'DL' WHEN 3 THEN 'LH' WHEN 4 THEN 'KL' WHEN 5 THEN 'UA' WHEN 6 THEN 'SK' ELSE 'FR' END AS carrier,
       'A' || lpad((least(b % 300, c % 300))::text, 3, '0') AS origin,
       'A' || lpad((d % 300)::text, 3, '0') AS dest,
       'N' || (e % 4000) AS tail,
       TIMESTAMP '2024-01-01 00:00:00' + (f % 527040)::integer * INTERVAL '1 minute' AS departs,
       CASE WHEN g % 30 > 0 THEN (g % 400 % 97 * (g % 7) % 199 - 15)::integer END AS delay,
       (h % 2500 + 100)::integer AS distance,
       g % 60 = 0 AS cancelled,
       (40 + h % 300)::real AS fare
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g, x8 * x8 % 2147483497 AS h
        FROM (
                SELECT i, i * 48271 % 2147483647 AS x1, i * 69621 % 2147483629 AS x2, i * 16807 % 2147483587 AS x3,
                       i * 40692 % 2147483579 AS x4, i * 40014 % 2147483563 AS x5, i * 39373 % 2147483549 AS x6,
                       i * 30269 % 2147483543 AS x7, i * 30323 % 2147483497 AS x8
                FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS airports;
CREATE TABLE airports AS
SELECT 'A' || lpad(i::text, 3, '0') AS code, 'Airport of ' || chr((65 + i % 26)::integer) || (i * 7919 % 300) AS name,
       ((i * 48271 % 12000)::double precision / 100 - 60) AS lat, ((i * 69621 % 36000)::double precision / 100 - 180) AS lon,
       'state ' || (i % 40) AS state
FROM generate_series(0::bigint, 299::bigint) AS s (i);
DROP TABLE IF EXISTS trades;
CREATE TABLE trades AS
SELECT i AS id, 'S' || (a % 400) AS sym, TIMESTAMP '2025-06-02 09:30:00' + (i * 39)::integer * INTERVAL '1 millisecond' AS ts,
       ((a % 400 * 3 + 1000 + b % 1000)::numeric(12,2) / 100)::numeric(12,2) AS price, (c % 500 + 1)::integer AS size,
       CASE WHEN d % 2 = 0 THEN 'B' ELSE 'S' END AS side
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 40692 % 2147483647 AS x1, i * 40014 % 2147483629 AS x2, i * 16807 % 2147483587 AS x3, i * 39373 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS quotes;
CREATE TABLE quotes AS
SELECT id, sym, ts + (id % 7)::integer * INTERVAL '1 second' AS ts, (price - 0.05)::numeric(12,2) AS bid, (price + 0.05)::numeric(12,2) AS ask
FROM trades WHERE id % 4 = 1;
DROP TABLE IF EXISTS documents;
CREATE TABLE documents AS
SELECT i AS id, 'author ' || (a % 2000) AS author, DATE '2022-01-01' + (b % 1200)::integer AS posted, (c % 1000)::integer AS likes,
       'w' || (a % 31) || ' w' || (b % 97) || ' the w' || (c % 211) || ', w' || (d % 503) || '. And W' || (a % 13) || ' w' || (b % 1009) || ' of w' || (c % 41) AS body,
       't' || (a % 20) || ',t' || (b % 20) || CASE WHEN c % 3 = 0 THEN ',t' || (d % 20) ELSE '' END AS tags,
       '{"lang": "' || CASE d % 4 WHEN 0 THEN 'de' WHEN 1 THEN 'fr' ELSE 'en' END || '", "n": ' || (c % 77) || ', "by": {"name": "u' || (a % 500) || '", "ok": ' || CASE WHEN b % 2 = 0 THEN 'true' ELSE 'false' END || '}}' AS meta
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 30269 % 2147483647 AS x1, i * 30323 % 2147483629 AS x2, i * 30307 % 2147483587 AS x3, i * 39373 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 4 = 0) AS x) AS y;
DROP TABLE IF EXISTS follows;
CREATE TABLE follows AS
SELECT DISTINCT (a % 20000)::integer AS src, (least(b % 20000, c % 20000))::integer AS dst
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c
        FROM (SELECT i, i * 48271 % 2147483647 AS x1, i * 16807 % 2147483629 AS x2, i * 40692 % 2147483587 AS x3
              FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 2 = 0) AS x) AS y;
