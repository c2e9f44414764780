CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
CREATE TABLE pets (id INTEGER PRIMARY KEY, person_id INTEGER, name TEXT);
INSERT INTO people VALUES (9, 'Ann', 'b'), (8, 'Ann', 'B'), (7, 'Ed', 'a'), (6, 'Ed', ''), (5, 'Fay', NULL), (4, 'Gus', 'b'), (3, 'Hal', 'Ä'), (2, 'Ida', ' a');
INSERT INTO pets VALUES (1, 9, 'Rex'), (2, NULL, NULL);
