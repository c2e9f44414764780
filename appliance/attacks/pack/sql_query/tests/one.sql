CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, cents INTEGER, note TEXT);
INSERT INTO customers VALUES (1, 'Ada', 'London'), (2, 'Ada', 'Oslo'), (3, 'Cy', 'Rome'), (4, 'Di', 'Bern'), (5, 'Ada', NULL);
INSERT INTO orders VALUES (1, 1, 500, NULL), (2, 2, 500, 'gift'), (3, 4, NULL, NULL), (4, 99, 7, 'stray'), (5, 5, 500, NULL), (6, 4, NULL, '');
