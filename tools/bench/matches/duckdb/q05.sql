-- names made canonical
SELECT array_to_string(list_transform(string_split(translate(trim(nick, '_'), '_', ' '), ' '), lambda w: upper(left(w, 1)) || lower(substr(w, 2))), ' ') AS name, count(*) AS n, min(lpad(left(nick, 3), 6, '*')) AS p, max(left(nick, 1) || 'XX' || substr(nick, 4)) AS o, sum(position('the' in nick)) AS q,
       max(rpad(right(nick, 4), 7, '-')) AS r, min(repeat(substr(nick, 1, 1), 3)) AS t, sum(ascii(nick)) AS a, max(reverse(nick)) AS v, sum(char_length(trim(nick, '_'))) AS l
FROM players GROUP BY 1 ORDER BY n DESC, name LIMIT 50
