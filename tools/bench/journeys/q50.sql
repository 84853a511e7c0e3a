-- pairs of documents of one author and day
SELECT count(*), sum(abs(a.likes - b.likes)) FROM documents AS a JOIN documents AS b ON b.author = a.author AND b.id > a.id AND b.posted BETWEEN a.posted AND a.posted + 3
