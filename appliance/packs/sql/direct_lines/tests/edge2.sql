CREATE TABLE trains (number INTEGER PRIMARY KEY, departs TEXT NOT NULL, arrives TEXT NOT NULL, cancelled INTEGER NOT NULL);
INSERT INTO trains VALUES (1, 'X', 'Y', 1), (2, 'Y', 'Z', 0);
