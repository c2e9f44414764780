CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, paid_on TEXT);
CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT);
INSERT INTO orders VALUES (4, 'Ann', NULL), (5, 'Ann', ''), (9, 'Cy', '2024-02-01'), (2, 'Cy', NULL), (3, 'Cy', NULL);
INSERT INTO log VALUES (1, NULL), (2, 'x');
