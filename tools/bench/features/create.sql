-- Events of users over a year, as features are made of them: fifty a user, unsorted. The numbers are
-- made from the row number by squaring modulo a prime, so that every engine makes the same rows
-- without a file.
CREATE TABLE events AS
SELECT i AS id,
       (least(a % :users, b % :users) + 1)::integer AS user_id,
       (c % 5000 + 1)::integer AS item_id,
       TIMESTAMP '2025-01-01 00:00:00' + (d % 31536000)::integer * INTERVAL '1 second' AS ts,
       CASE WHEN e % 100 < 60 THEN 'view' WHEN e % 100 < 80 THEN 'click' WHEN e % 100 < 90 THEN 'cart'
            WHEN e % 100 < 97 THEN 'buy' WHEN e % 100 < 99 THEN 'return' ELSE 'review' END AS kind,
       CASE WHEN f % 20 > 0 THEN (f % 1000000)::double precision / 1000 END AS amount,
       ((g % 10000)::numeric(10,2) / 100)::numeric(10,2) AS price,
       'https://' || CASE WHEN h % 3 = 0 THEN 'www.' ELSE '' END || 'site' || (h % 977) || '.example/p/' || (h % 50000) || '?from=' || (e % 100) AS url,
       '{"device": "' || CASE k % 4 WHEN 0 THEN 'phone' WHEN 1 THEN 'tablet' ELSE 'desktop' END || '", "country": "c' || (k % 60) || '", "score": ' || (g % 100) || ', "tags": ["t' || (f % 7) || '", "u"]}' AS props
FROM (
        SELECT i, x1 * x1 % 2147483647 AS a, x2 * x2 % 2147483629 AS b, x3 * x3 % 2147483587 AS c, x4 * x4 % 2147483579 AS d,
               x5 * x5 % 2147483563 AS e, x6 * x6 % 2147483549 AS f, x7 * x7 % 2147483543 AS g, x8 * x8 % 2147483497 AS h,
               x9 * x9 % 2147483489 AS k
        FROM (
                SELECT i, i * 48271 % 2147483647 AS x1, i * 69621 % 2147483629 AS x2, i * 16807 % 2147483587 AS x3,
                       i * 40692 % 2147483579 AS x4, i * 40014 % 2147483563 AS x5, i * 39373 % 2147483549 AS x6,
                       i * 30269 % 2147483543 AS x7, i * 30323 % 2147483497 AS x8, i * 30307 % 2147483489 AS x9
                FROM generate_series(1::bigint, :rows::bigint) AS s (i)) AS x) AS y
