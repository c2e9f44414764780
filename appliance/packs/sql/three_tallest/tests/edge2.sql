CREATE TABLE trees (id INTEGER NOT NULL UNIQUE, species TEXT NOT NULL, height INTEGER);
INSERT INTO trees VALUES (1, 'oak', 800), (2, 'elm', NULL), (3, 'fir', NULL);
