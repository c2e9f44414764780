CREATE TABLE contacts (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
CREATE TABLE notes (id INTEGER PRIMARY KEY, contact_id INTEGER, body TEXT);
INSERT INTO contacts VALUES (1, 'Ann', 'ann@x.org'), (2, 'Ann B', 'ANN@x.org'), (3, 'Cy', NULL), (4, 'Di', NULL);
INSERT INTO notes VALUES (1, 2, 'call');
