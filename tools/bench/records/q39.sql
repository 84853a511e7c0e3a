-- members of lists as parameters
SELECT status, count(*), sum(amount) FROM orders WHERE customer = ANY (ARRAY[1,5,9,100,733,2040,3999,41000,17,18,19,20,21]) OR coupon = ANY (string_to_array('CP-ABCDEF,CP-123456,CP-C4CA42', ',')) OR status NOT IN ('shipped', 'open') AND channel IN ('web', 'app', NULL) GROUP BY status ORDER BY status
