CREATE TABLE trees (id INTEGER NOT NULL UNIQUE, species TEXT NOT NULL, height INTEGER);
INSERT INTO trees VALUES (7, 'oak', 10), (6, 'oak', 9), (5, 'elm', 100);
