-- tf-idf of the words of memos by merchant
WITH w AS (SELECT merchant, unnest(string_to_array(lower(memo), ' ')) AS word FROM payments WHERE merchant <= 800),
tf AS (SELECT merchant, word, count(*) AS n FROM w WHERE word <> '' GROUP BY merchant, word),
df AS (SELECT word, count(*) AS docs FROM tf GROUP BY word),
x AS (SELECT tf.merchant, tf.word, tf.n * ln(800.0::double precision / df.docs) AS score FROM tf JOIN df USING (word))
SELECT merchant, word, round(score::numeric, 4) AS score FROM (SELECT *, row_number() OVER (PARTITION BY merchant ORDER BY score DESC, word) AS k FROM x) t WHERE k <= 2 ORDER BY merchant, k LIMIT 60
