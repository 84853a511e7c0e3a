-- orders above their customer's mean
SELECT count(*), sum(amount) FROM orders AS o WHERE amount > (SELECT avg(amount) FROM orders AS i WHERE i.customer = o.customer)
