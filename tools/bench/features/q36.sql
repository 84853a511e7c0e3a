-- words of an address
SELECT split_part(url, '/', 3) AS host, substr(url, 1, 12) AS head, count(*), max(position('?' IN url)) FROM events GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 20
