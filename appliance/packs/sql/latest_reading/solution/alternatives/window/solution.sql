SELECT meter, value FROM (SELECT meter, value, row_number() OVER (PARTITION BY meter ORDER BY sent DESC, id DESC) AS place FROM readings) WHERE place = 1;
