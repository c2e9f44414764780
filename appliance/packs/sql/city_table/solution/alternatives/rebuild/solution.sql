CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL);
INSERT INTO cities (name) SELECT city FROM people WHERE city IS NOT NULL GROUP BY city ORDER BY city;
CREATE TABLE fresh (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city_id INTEGER, FOREIGN KEY (city_id) REFERENCES cities (id));
INSERT INTO fresh SELECT p.id, p.name, c.id FROM people AS p LEFT JOIN cities AS c ON c.name = p.city;
DROP TABLE people;
ALTER TABLE fresh RENAME TO people;
