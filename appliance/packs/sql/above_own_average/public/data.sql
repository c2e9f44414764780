CREATE TABLE staff (id INTEGER PRIMARY KEY, team TEXT, wage INTEGER);
INSERT INTO staff VALUES (1, 'paint', 100), (2, 'paint', 300), (3, 'wood', 200), (4, 'wood', NULL), (5, NULL, 900);
