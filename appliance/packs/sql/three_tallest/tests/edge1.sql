CREATE TABLE trees (id INTEGER NOT NULL UNIQUE, species TEXT NOT NULL, height INTEGER);
INSERT INTO trees VALUES (8, 'oak', 800), (3, 'elm', 800), (5, 'fir', 800), (1, 'ash', 700), (6, 'yew', 800);
