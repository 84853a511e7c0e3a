-- the first by kills with their ties
SELECT id, player, kills, deaths FROM plays ORDER BY kills DESC, deaths FETCH FIRST 500 ROWS WITH TIES
