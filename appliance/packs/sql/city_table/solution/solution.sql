CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO cities (id, name) SELECT row_number() OVER (ORDER BY city), city FROM (SELECT DISTINCT city FROM people WHERE city IS NOT NULL);
ALTER TABLE people ADD COLUMN city_id INTEGER REFERENCES cities (id);
UPDATE people SET city_id = (SELECT c.id FROM cities AS c WHERE c.name = people.city);
ALTER TABLE people DROP COLUMN city;
