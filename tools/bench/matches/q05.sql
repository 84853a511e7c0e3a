-- names made canonical
SELECT initcap(translate(btrim(nick, '_'), '_', ' ')) AS name, count(*) AS n, min(lpad(left(nick, 3), 6, '*')) AS p, max(overlay(nick placing 'XX' from 2 for 2)) AS o, sum(position('the' in nick)) AS q,
       max(rpad(right(nick, 4), 7, '-')) AS r, min(repeat(substr(nick, 1, 1), 3)) AS t, sum(ascii(nick)) AS a, max(reverse(nick)) AS v, sum(char_length(trim(both '_' from nick))) AS l
FROM players GROUP BY 1 ORDER BY n DESC, name LIMIT 50
