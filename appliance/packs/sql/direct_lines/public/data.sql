CREATE TABLE trains (number INTEGER PRIMARY KEY, departs TEXT NOT NULL, arrives TEXT NOT NULL, cancelled INTEGER NOT NULL);
INSERT INTO trains VALUES (1, 'Aarhus', 'Odense', 0), (2, 'Aarhus', 'Odense', 0), (3, 'Odense', 'Aarhus', 0), (4, 'Odense', 'Vejle', 1);
