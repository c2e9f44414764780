CREATE TABLE loans (id INTEGER NOT NULL UNIQUE, book TEXT NOT NULL, due TEXT NOT NULL, returned TEXT);
INSERT INTO loans VALUES (1, 'Atlas', '2024-04-20', NULL), (2, 'Birds', '2024-04-02', NULL), (3, 'Cakes', '2024-04-10', '2024-04-09'), (4, 'Dunes', '2024-06-01', NULL);
