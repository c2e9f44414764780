CREATE TABLE entries (id INTEGER NOT NULL UNIQUE, account TEXT NOT NULL, day TEXT NOT NULL, cents INTEGER NOT NULL);
INSERT INTO entries VALUES (9, 'a', '2024-01-01', 5), (3, 'a', '2024-01-01', 5), (4, 'a', '2024-01-01', -2), (2, 'a', '2024-01-09', 7), (1, 'b', '2024-01-05', 11), (7, 'b', '2024-01-04', 13), (8, 'c', '2023-12-31', 0);
