CREATE TABLE contacts (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
CREATE TABLE notes (id INTEGER PRIMARY KEY, contact_id INTEGER, body TEXT);
INSERT INTO contacts VALUES (9, 'a', 'q@x'), (3, 'b', 'Q@X'), (5, 'c', 'q@X'), (4, NULL, NULL), (2, NULL, NULL), (6, 'd', 'q@y'), (7, 'd', ' q@y'), (8, 'e', ''), (1, 'f', '');
INSERT INTO notes VALUES (1, 9, 'x'), (2, 3, 'x'), (3, 3, 'x');
