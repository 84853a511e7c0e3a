-- different machines and days of a status
SELECT status, count(DISTINCT machine), count(DISTINCT ts::date), count(DISTINCT site) FROM readings GROUP BY status ORDER BY status
