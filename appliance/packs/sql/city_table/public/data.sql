CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
CREATE TABLE pets (id INTEGER PRIMARY KEY, person_id INTEGER, name TEXT);
INSERT INTO people VALUES (1, 'Ann', 'Oslo'), (2, 'Ben', 'Bern'), (3, 'Cy', NULL), (4, 'Di', 'Oslo');
INSERT INTO pets VALUES (1, 2, 'Rex');
