CREATE TABLE invoices (id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
INSERT INTO invoices VALUES (1, 9), (2, 3), (3, 3), (4, 9), (5, 5), (6, 6);
