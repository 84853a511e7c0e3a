-- lines by LIKE, ILIKE, SIMILAR TO and a regular expression
SELECT count(*) FILTER (WHERE line LIKE '%code=E1_7%') AS a, count(*) FILTER (WHERE line ILIKE '%OVER LIMIT OF 3%') AS b, count(*) FILTER (WHERE line SIMILAR TO '%\[(WARN|ERROR)\] pump-1[0-9]%') AS c, count(*) FILTER (WHERE line ~ 'temp=9[0-9]\.[5-9]') AS d, count(*) FILTER (WHERE line !~* 'error|warn') AS e FROM logs
