-- the next value that is known, by counting from the end
SELECT count(*), count(t), sum(t) FROM (
        SELECT max(temp) OVER (PARTITION BY machine, g) AS t FROM (SELECT machine, temp, count(temp) OVER (PARTITION BY machine ORDER BY ts DESC, id DESC) AS g FROM readings) AS x) AS ans
