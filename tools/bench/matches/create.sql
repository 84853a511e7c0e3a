-- A game's plays, ten a match, with its players, purchases, chat, items, bans, servers and seasons, and twelve
-- measures of a player's weeks with a label. The numbers are made from the row number by squaring modulo a
-- prime, so that every engine makes the same rows without a file.
CREATE TABLE plays AS
SELECT i AS id, ((i - i % 10) / 10)::integer AS match, (least(a % :users, b % :users) + 1)::integer AS player, (i % 2)::smallint AS team,
       TIMESTAMP '2024-03-01 00:00:00' + ((i - i % 10) * 10 + c % 7)::integer * INTERVAL '1 second' AS started,
       (600 + c % 2400)::integer AS seconds,
       'hero ' || (least(d % 60, e % 60)) AS hero,
       CASE ((i - i % 10) * 7919 % 104729) % 7 WHEN 0 THEN 'dust' WHEN 1 THEN 'mill' WHEN 2 THEN 'harbour' WHEN 3 THEN 'ice' WHEN 4 THEN 'canyon' ELSE 'forge' END AS map,
       CASE f % 11 WHEN 0 THEN NULL WHEN 1 THEN 'support' WHEN 2 THEN 'support' WHEN 3 THEN 'tank' ELSE 'damage' END AS role,
       (a % 17 * (b % 3))::integer AS kills, (c % 19)::integer AS deaths, (d % 23)::smallint AS assists,
       (e % 40000)::double precision / 8 + d % 60 * 10 AS damage,
       CASE WHEN g % 12 > 0 THEN (10 + least(g % 300, h % 300))::smallint END AS ping,
       CASE WHEN ((i - i % 10) * 48271 % 2147483647) % 25 > 0 THEN (((i - i % 10) * 48271 % 2147483647) % 2 = i % 2) <> (a % 9 = 0) END AS won,
       ((f % 100000)::numeric(8,2) / 100)::numeric(8,2) AS score,
       (g % 4096)::real / 4 AS x, (h % 4096)::real / 4 AS y,
       CASE a % 5 WHEN 0 THEN '' ELSE 'sword-' || (b % 20) || CASE WHEN c % 2 = 0 THEN ',shield-' || (d % 9) ELSE '' END || CASE WHEN e % 3 = 0 THEN ',boots' ELSE '' END END AS build,
       (1 + f % 2) || '.' || (g % 14) || '.' || (h % 6) || CASE h % 4 WHEN 0 THEN ' (Win; x64)' WHEN 1 THEN ' (Mac; arm64)' WHEN 2 THEN ' (Linux; x64)' ELSE ' (Win; arm64)' END AS client
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g, x8 * x8 % 2147483497 AS h
        FROM (
                SELECT i, i * 39373 % 2147483647 AS x1, i * 30269 % 2147483629 AS x2, i * 40692 % 2147483587 AS x3,
                       i * 16807 % 2147483579 AS x4, i * 69621 % 2147483563 AS x5, i * 48271 % 2147483549 AS x6,
                       i * 40014 % 2147483543 AS x7, i * 30307 % 2147483497 AS x8
                FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS players;
CREATE TABLE players AS
SELECT i::integer AS id,
       CASE a % 4 WHEN 0 THEN '__' ELSE '' END || substr(md5((a % 9000)::text), 1, 4) || CASE b % 3 WHEN 0 THEN ' the ' || substr(md5(b::text), 1, 3) WHEN 1 THEN '_' || (b % 100) ELSE '' END || CASE c % 4 WHEN 0 THEN '__' ELSE '' END AS nick,
       CASE WHEN c % 9 > 0 THEN 'u' || (i - i % 2 * (b % 2)) || CASE d % 3 WHEN 0 THEN '+game' ELSE '' END || '@' || CASE d % 4 WHEN 0 THEN 'Mail.example' WHEN 1 THEN 'post.example' ELSE 'play.example' END END AS mail,
       DATE '2023-01-01' + (c % 420)::integer AS joined,
       CASE WHEN d % 5 > 0 THEN DATE '1965-01-01' + (d % 16000)::integer END AS born,
       CASE a % 6 WHEN 0 THEN 'DE' WHEN 1 THEN 'US' WHEN 2 THEN 'BR' WHEN 3 THEN 'JP' WHEN 4 THEN 'US' ELSE 'KR' END AS country,
       CASE a % 6 WHEN 0 THEN 'Europe/Berlin' WHEN 1 THEN 'America/New_York' WHEN 2 THEN 'America/Sao_Paulo' WHEN 3 THEN 'Asia/Tokyo' WHEN 4 THEN 'America/Los_Angeles' ELSE 'Asia/Seoul' END AS tz,
       CASE WHEN b % 3 > 0 AND i > 1 THEN (a % (i - 1) + 1)::integer END AS referrer,
       md5(i::text)::uuid AS token, (c % 256)::integer AS flags,
       (a % 1300)::double precision / 10 - 60 AS lat, (b % 3600)::double precision / 10 - 180 AS lon
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 40692 % 2147483647 AS x1, i * 40014 % 2147483629 AS x2, i * 16807 % 2147483587 AS x3, i * 39373 % 2147483579 AS x4
              FROM generate_series(1::bigint, :users::bigint) AS s (i)) AS x) AS y;
DROP TABLE IF EXISTS purchases;
CREATE TABLE purchases AS
SELECT i AS id, (least(a, b) % :users + 1)::integer AS player, TIMESTAMPTZ '2024-03-01 00:00:00+00' + (c % (:rows * 10))::integer * INTERVAL '1 second' AS bought,
       'I-' || lpad((least(d % 500, e % 500))::text, 4, '0') AS sku, (d % 40 * 50 + 99)::bigint AS cents,
       CASE e % 4 WHEN 0 THEN 'EUR' WHEN 1 THEN 'JPY' ELSE 'USD' END AS currency,
       CASE WHEN a % 5 = 0 THEN 'SPRING' || (b % 12) END AS promo, c % 29 = 0 AS refunded,
       ('{"store": "' || CASE d % 3 WHEN 0 THEN 'steam' WHEN 1 THEN 'console' ELSE 'web' END || '", "tries": ' || (e % 4) || CASE WHEN a % 7 = 0 THEN ', "gift": {"to": ' || (b % :users) || '}' ELSE '' END || '}')::json AS meta
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d, x5 * x5 % 2147483563 AS e
        FROM (SELECT i, i * 48271 % 2147483647 AS x1, i * 30323 % 2147483629 AS x2, i * 30307 % 2147483587 AS x3, i * 69621 % 2147483579 AS x4, i * 40014 % 2147483563 AS x5
              FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 4 = 0) AS x) AS y;
DROP TABLE IF EXISTS chat;
CREATE TABLE chat AS
SELECT i AS id, (a % ((:rows - :rows % 10) / 10)::integer)::integer AS match, (b % :users + 1)::integer AS player,
       TIMESTAMP '2024-03-01 00:00:00' + (c % (:rows * 10))::integer * INTERVAL '1 second' AS said,
       CASE a % 6 WHEN 0 THEN 'GG' WHEN 1 THEN 'gg wp' WHEN 2 THEN 'why' WHEN 3 THEN 'Push' ELSE 'go' END || ' ' || CASE b % 5 WHEN 0 THEN 'mid' WHEN 1 THEN 'TOP lane' WHEN 2 THEN 'noob!!' WHEN 3 THEN 'hero ' || (c % 60) ELSE 'w' || least(c % 900, d % 900) END
         || CASE d % 4 WHEN 0 THEN '' WHEN 1 THEN ' :)' WHEN 2 THEN ' at ' || (c % 60) || ':' || lpad((d % 60)::text, 2, '0') ELSE ' w' || least(a % 2000, b % 2000) || ' w' || (c % 40) END AS words
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 30269 % 2147483647 AS x1, i * 39373 % 2147483629 AS x2, i * 40692 % 2147483587 AS x3, i * 30323 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 3 = 0) AS x) AS y;
DROP TABLE IF EXISTS items;
CREATE TABLE items AS
SELECT 'I-' || lpad(i::text, 4, '0') AS sku, CASE i % 4 WHEN 0 THEN 'skin' WHEN 1 THEN 'pass' WHEN 2 THEN 'crate' ELSE 'emote' END AS kind,
       (((i * 7919) % 5000 + 99)::numeric(8,2) / 100)::numeric(8,2) AS price,
       string_to_array('t' || (i % 11) || ',t' || (i * 7 % 13) || ',t' || (i * 3 % 29), ',') AS tags, DATE '2023-06-01' + (i * 48271 % 300)::integer AS released
FROM generate_series(0::bigint, 499::bigint) AS s (i);
DROP TABLE IF EXISTS bans;
CREATE TABLE bans AS
SELECT (a % :users + 1)::integer AS player, TIMESTAMP '2024-03-01 00:00:00' + (b % (:rows * 10))::integer * INTERVAL '1 second' AS since,
       CASE WHEN c % 6 > 0 THEN TIMESTAMP '2024-03-01 00:00:00' + (b % (:rows * 10) + d % 1500000 + 3600)::integer * INTERVAL '1 second' END AS until,
       CASE c % 4 WHEN 0 THEN 'cheat' WHEN 1 THEN 'chat' WHEN 2 THEN 'leave' ELSE 'chat' END AS reason
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d
        FROM (SELECT i, i * 48271 % 2147483647 AS x1, i * 16807 % 2147483629 AS x2, i * 69621 % 2147483587 AS x3, i * 40692 % 2147483579 AS x4
              FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 40 = 0) AS x) AS y;
DROP TABLE IF EXISTS servers;
CREATE TABLE servers AS
SELECT 's' || lpad(i::text, 2, '0') AS code, (i * 48271 % 1200)::double precision / 10 - 60 AS lat, (i * 69621 % 3600)::double precision / 10 - 180 AS lon
FROM generate_series(1::bigint, 40::bigint) AS s (i);
DROP TABLE IF EXISTS seasons;
CREATE TABLE seasons AS
SELECT 'S' || i AS season, DATE '2024-02-15' + (i * 45)::integer AS starts, DATE '2024-02-15' + (i * 45 + 44)::integer AS ends FROM generate_series(0::bigint, 5::bigint) AS s (i);
DROP TABLE IF EXISTS measures;
CREATE TABLE measures AS
SELECT i AS id, (i % :users + 1)::integer AS player, (a % 1000)::double precision / 10 AS m1, CASE WHEN b % 20 > 0 THEN (b % 5000)::double precision / 16 END AS m2,
       (c % 700)::double precision / 4 + a % 1000 * 0.05 AS m3, (d % 97)::double precision AS m4, (e % 10000)::double precision / 64 AS m5,
       CASE WHEN f % 9 > 0 THEN (f % 300 * (g % 11))::double precision END AS m6, (g % 1000)::double precision / 3 AS m7, (h % 50)::double precision AS m8,
       (a % 10)::integer AS m9, (b % 4)::integer AS m10, CASE WHEN c % 33 > 0 THEN (c % 2000)::integer END AS m11, (d % 7 = 0)::integer AS m12,
       (a % 1000 + b % 400 > 1000 OR e % 29 = 0)::integer AS label
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g, x8 * x8 % 2147483497 AS h
        FROM (
                SELECT i, i * 16807 % 2147483647 AS x1, i * 40692 % 2147483629 AS x2, i * 48271 % 2147483587 AS x3, i * 69621 % 2147483579 AS x4,
                       i * 30307 % 2147483563 AS x5, i * 30269 % 2147483549 AS x6, i * 39373 % 2147483543 AS x7, i * 30323 % 2147483497 AS x8
                FROM generate_series(1::bigint, :rows::bigint) AS s (i) WHERE i % 5 = 0) AS x) AS y;
