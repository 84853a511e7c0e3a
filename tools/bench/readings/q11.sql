-- the last reading of a machine and day
SELECT count(*), sum(temp), sum(id) FROM (
        SELECT DISTINCT ON (machine, date_trunc('day', ts)) id, temp FROM readings ORDER BY machine, date_trunc('day', ts), ts DESC, id DESC) AS ans
