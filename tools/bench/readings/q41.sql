-- machines that were all right, or never
SELECT count(*), count(*) FILTER (WHERE every_ok), count(*) FILTER (WHERE some_alarm), sum(bits) FROM (
        SELECT machine, date_trunc('day', ts) AS d, bool_and(status = 0) AS every_ok, bool_or(alarm) AS some_alarm, bit_or(status) AS bits FROM readings GROUP BY 1, 2
        HAVING count(*) > 20 AND count(temp) > 10) AS ans
