-- union of several scans as one timeline
SELECT kind, extract(isodow FROM moment)::integer AS dow, count(*), count(DISTINCT who) AS who FROM (
  SELECT 'order' AS kind, placed AS moment, customer AS who FROM orders UNION ALL SELECT 'shipment', shipped, customer FROM orders WHERE shipped IS NOT NULL
  UNION ALL SELECT 'lab', taken, patient FROM labs UNION ALL SELECT 'stay', admitted::timestamp, patient FROM stays UNION ALL SELECT 'change', moment, ticket FROM changes) u GROUP BY 1, 2 ORDER BY 1, 2
