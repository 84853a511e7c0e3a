-- expected wins by the strength of the opponents before the match
WITH s AS (SELECT id, match, team, won, coalesce(avg(won::integer) OVER (PARTITION BY player ORDER BY started, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0.5) AS f FROM plays),
     t AS (SELECT match, team, avg(f) AS f, bool_or(won) AS won FROM s GROUP BY match, team)
SELECT round((1 / (1 + exp(-8 * (a.f - b.f))))::numeric, 1) AS p, count(*) AS n, avg(a.won::integer) AS w, avg(a.f - b.f) AS d FROM t a JOIN t b ON a.match = b.match AND a.team <> b.team GROUP BY 1 ORDER BY 1
