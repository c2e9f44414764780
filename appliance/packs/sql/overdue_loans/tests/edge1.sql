CREATE TABLE loans (id INTEGER NOT NULL UNIQUE, book TEXT NOT NULL, due TEXT NOT NULL, returned TEXT);
INSERT INTO loans VALUES (9, 'Atlas', '2024-04-30', NULL), (4, 'Zebra', '2024-04-30', NULL), (5, 'Birds', '2024-05-01', NULL), (6, 'Cakes', '2023-12-31', ''), (7, 'Atlas', '2024-04-30', NULL), (8, 'Egg', '2022-05-02', NULL);
