-- a hundred values in a list
SELECT count(*), sum(distance) FROM flights WHERE tail IN (SELECT 'N' || (i * 37) FROM generate_series(1, 100) AS g (i)) AND origin NOT IN ('A001', 'A002', 'A003', 'A005', 'A008', 'A013', 'A021', 'A034', 'A055', 'A089')
