-- flights that connect within two hours
SELECT count(*), sum(b.delay) FROM flights AS a JOIN flights AS b ON b.origin = a.dest AND b.carrier = a.carrier AND b.departs > a.departs AND b.departs <= a.departs + INTERVAL '2 hours' WHERE a.departs >= TIMESTAMP '2024-03-01' AND a.departs < TIMESTAMP '2024-03-15'
