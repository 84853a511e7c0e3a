-- what a BI tool asks: a subquery named by quotes, casts and date_trunc
SELECT "source"."placed" AS "placed", "source"."segment" AS "segment", SUM("source"."amount") AS "sum", COUNT(DISTINCT "source"."customer") AS "count" FROM (
  SELECT (CAST(date_trunc('month', CAST("public_orders"."placed" AS timestamp)) AS timestamp)) AS "placed", "customers"."segment" AS "segment", "public_orders"."amount" AS "amount", "public_orders"."customer" AS "customer"
  FROM (SELECT * FROM "orders") "public_orders" LEFT JOIN (SELECT "customers"."id" AS "id", "customers"."segment" AS "segment" FROM "customers") "customers" ON "public_orders"."customer" = "customers"."id"
  WHERE ("public_orders"."placed" >= CAST('2023-06-01' AS timestamp) AND "public_orders"."placed" < (CAST('2024-06-01' AS timestamp) + (INTERVAL '1 month')) AND (NOT ("public_orders"."status" = 'cancelled') OR "public_orders"."status" IS NULL))) "source"
GROUP BY "source"."placed", "source"."segment" ORDER BY "source"."placed" ASC, "source"."segment" ASC NULLS FIRST LIMIT 2000
