-- a sample and folds by hash
SELECT substr(md5(customer), 1, 1) AS fold, count(*), sum(amount) FROM orders GROUP BY 1 ORDER BY 1
