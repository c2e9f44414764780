CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, cents INTEGER, note TEXT);
INSERT INTO customers VALUES (7, 'Zoë', 'Köln'), (8, 'Éva', 'Pécs'), (9, '', 'Rome');
INSERT INTO orders VALUES (1, 9, -20, NULL), (2, 9, 3000000000, 'big'), (3, 7, 0, NULL), (4, 8, NULL, NULL), (5, 8, 12, NULL);
