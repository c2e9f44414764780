CREATE TABLE staff (id INTEGER PRIMARY KEY, team TEXT, wage INTEGER);
INSERT INTO staff VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 100), (4, 'b', 101), (5, 'b', 101), (6, 'e', 40), (7, 'e', 0), (8, 'e', 0), (9, 'e', 20);
