CREATE TABLE trees (id INTEGER NOT NULL UNIQUE, species TEXT NOT NULL, height INTEGER);
INSERT INTO trees VALUES (1, 'oak', 900), (2, 'elm', 1200), (3, 'fir', 1500), (4, 'ash', 700), (5, 'yew', NULL);
