CREATE TABLE folders (id INTEGER PRIMARY KEY, parent INTEGER, name TEXT NOT NULL);
CREATE TABLE files (id INTEGER PRIMARY KEY, folder_id INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO folders VALUES (1, NULL, 'home'), (2, 1, 'music'), (3, 2, 'live'), (4, 1, 'empty');
INSERT INTO files VALUES (1, 1, 10), (2, 2, 200), (3, 3, 3000);
