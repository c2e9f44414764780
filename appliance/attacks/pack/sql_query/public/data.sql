CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, cents INTEGER, note TEXT);
INSERT INTO customers VALUES (1, 'Ada', 'London'), (2, 'Bo', 'Oslo'), (3, 'Cy', 'Rome');
INSERT INTO orders VALUES (1, 1, 500, NULL), (2, 1, 250, 'gift'), (3, 2, 990, NULL);
