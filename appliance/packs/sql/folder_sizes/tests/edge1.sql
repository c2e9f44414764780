CREATE TABLE folders (id INTEGER PRIMARY KEY, parent INTEGER, name TEXT NOT NULL);
CREATE TABLE files (id INTEGER PRIMARY KEY, folder_id INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO folders VALUES (9, NULL, 'a'), (3, 9, 'a'), (1, 3, 'a'), (2, 1, 'b'), (5, NULL, 'c'), (6, 9, 'd'), (7, 5, 'e');
INSERT INTO files VALUES (1, 2, 5), (2, 2, 5), (3, 9, 7), (4, 6, 11), (5, 1, 0), (6, 7, 9);
