-- authors who were liked above their own mean
SELECT count(*), sum(likes) FROM documents AS d WHERE likes > (SELECT avg(e.likes) FROM documents AS e WHERE e.author = d.author)
