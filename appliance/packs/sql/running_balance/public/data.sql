CREATE TABLE entries (id INTEGER NOT NULL UNIQUE, account TEXT NOT NULL, day TEXT NOT NULL, cents INTEGER NOT NULL);
INSERT INTO entries VALUES (1, 'rent', '2024-01-01', 1000), (2, 'rent', '2024-01-03', -400), (3, 'food', '2024-01-02', 50);
