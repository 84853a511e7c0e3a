-- readings above the mean of the same machine's last week, by a join of days
SELECT count(*), sum(up) FROM (
        SELECT d.machine, d.d, d.t - avg(p.t) AS up FROM (SELECT machine, ts::date AS d, avg(temp) AS t FROM readings GROUP BY 1, 2) AS d
        JOIN (SELECT machine, ts::date AS d, avg(temp) AS t FROM readings GROUP BY 1, 2) AS p ON p.machine = d.machine AND p.d >= d.d - 7 AND p.d < d.d GROUP BY d.machine, d.d, d.t) AS ans
