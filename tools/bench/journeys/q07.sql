-- cube of carriers and states
SELECT carrier, state, count(*), sum(fare::double precision) FROM flights JOIN airports ON code = origin WHERE delay > 60 GROUP BY CUBE (carrier, state) ORDER BY carrier NULLS LAST, state NULLS LAST LIMIT 100
