CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
CREATE TABLE posts (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, body TEXT);
CREATE TABLE audit (id INTEGER PRIMARY KEY, what TEXT);
INSERT INTO users VALUES (4, 'Di', 'x@y.z'), (2, 'Bo', 'X@Y.Z '), (12, 'Ab', 'x@Y.z'), (9, 'Ed', '   '), (7, 'Di', 'di@y.z');
INSERT INTO posts VALUES (5, 2, 'a'), (6, 2, 'a'), (7, 9, '');
INSERT INTO audit VALUES (1, 'created'), (2, NULL);
