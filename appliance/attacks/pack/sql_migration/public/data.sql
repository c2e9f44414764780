CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
CREATE TABLE posts (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, body TEXT);
CREATE TABLE audit (id INTEGER PRIMARY KEY, what TEXT);
INSERT INTO users VALUES (1, 'Ada', 'Ada@Example.org'), (2, 'Bo', NULL), (3, 'Cy', ' cy@example.org ');
INSERT INTO posts VALUES (1, 1, 'hello'), (2, 2, NULL);
INSERT INTO audit VALUES (1, 'created');
