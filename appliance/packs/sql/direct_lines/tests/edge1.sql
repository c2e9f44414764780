CREATE TABLE trains (number INTEGER PRIMARY KEY, departs TEXT NOT NULL, arrives TEXT NOT NULL, cancelled INTEGER NOT NULL);
INSERT INTO trains VALUES (5, 'B', 'A', 0), (6, 'A', 'B', 0), (7, 'A', 'C', 0), (8, 'A', 'B', 1), (9, 'A', 'A', 0), (10, 'A', 'B', 0), (11, 'C', 'D', 1);
