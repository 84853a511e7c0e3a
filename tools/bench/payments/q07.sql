-- histograms of a group as arrays
SELECT mcc, array_to_string(array_agg(n ORDER BY bin), ',') AS counts, array_to_string(array_agg(bin ORDER BY bin), ',') AS bins
FROM (SELECT m.mcc, width_bucket(p.amount, 0, 900, 12) AS bin, count(*) AS n FROM payments p JOIN merchants m ON m.id = p.merchant GROUP BY m.mcc, bin) h
GROUP BY mcc ORDER BY mcc
