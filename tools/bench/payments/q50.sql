-- nulls, distinct values, least and greatest of twenty columns
SELECT count(*) AS n, count(*) - count(x03) AS n03, count(*) - count(x06) AS n06, count(*) - count(x13) AS n13, count(*) - count(x17) AS n17, count(*) - count(x18) AS n18,
       count(DISTINCT x01) AS d01, count(DISTINCT x02) AS d02, count(DISTINCT x03) AS d03, count(DISTINCT x04) AS d04, count(DISTINCT x05) AS d05, count(DISTINCT x06) AS d06, count(DISTINCT x07) AS d07, count(DISTINCT x08) AS d08,
       count(DISTINCT x09) AS d09, count(DISTINCT x10) AS d10, count(DISTINCT x11) AS d11, count(DISTINCT x12) AS d12, count(DISTINCT x13) AS d13, count(DISTINCT x14) AS d14, count(DISTINCT x15) AS d15, count(DISTINCT x16) AS d16,
       count(DISTINCT x17) AS d17, count(DISTINCT x18) AS d18, count(DISTINCT x19) AS d19, count(DISTINCT x20) AS d20,
       min(x01) AS l01, max(x01) AS g01, min(x02) AS l02, max(x02) AS g02, min(x03) AS l03, max(x03) AS g03, min(x06) AS l06, max(x06) AS g06, min(x16) AS l16, max(x16) AS g16, min(x17) AS l17, max(x17) AS g17,
       min(x18) AS l18, max(x18) AS g18, min(x19) AS l19, max(x19) AS g19, min(x20) AS l20, max(x20) AS g20
FROM profiles
