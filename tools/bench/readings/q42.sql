-- status as bits
SELECT count(*) FILTER (WHERE status & 1 = 1), count(*) FILTER (WHERE status & 2 = 2), count(*) FILTER (WHERE status & 20 <> 0), sum(status << 2), sum(status | 3) FROM readings
