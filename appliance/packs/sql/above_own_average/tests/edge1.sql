CREATE TABLE staff (id INTEGER PRIMARY KEY, team TEXT, wage INTEGER);
INSERT INTO staff VALUES (1, 'a', 10), (2, 'a', 20), (3, 'a', 15), (4, 'b', 10), (5, 'b', NULL), (6, 'b', 30), (7, 'b', 15), (8, NULL, 1), (9, NULL, 9), (10, 'c', 5), (11, 'c', 5), (12, 'd', 7), (13, 'b', NULL);
