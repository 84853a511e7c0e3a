-- a funnel in order with limits of time
WITH a AS (SELECT ticket, min(moment) AS t0 FROM changes WHERE state = 'new' GROUP BY ticket),
b AS (SELECT a.ticket, a.t0, min(c.moment) AS t1 FROM a LEFT JOIN changes c ON c.ticket = a.ticket AND c.state = 'open' AND c.moment > a.t0 GROUP BY a.ticket, a.t0),
c AS (SELECT b.ticket, b.t0, b.t1, min(c.moment) AS t2 FROM b LEFT JOIN changes c ON c.ticket = b.ticket AND c.state IN ('solved', 'closed') AND c.moment > b.t1 AND c.moment < b.t1 + INTERVAL '90 days' GROUP BY b.ticket, b.t0, b.t1)
SELECT date_trunc('month', t0)::date AS m, count(*) AS new, count(t1) AS opened, count(t2) AS solved, round(100.0 * count(t2) / nullif(count(t1), 0), 2) AS pct FROM c GROUP BY 1 ORDER BY 1
