CREATE TABLE invoices (id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
INSERT INTO invoices VALUES (1, 0), (2, -3), (3, 2), (4, 2), (5, 1000000), (6, 3);
