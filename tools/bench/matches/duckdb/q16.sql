-- the first by kills with their ties
SELECT id, player, kills, deaths FROM plays QUALIFY rank() OVER (ORDER BY kills DESC, deaths) <= 500
