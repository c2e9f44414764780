CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, state TEXT NOT NULL);
INSERT INTO orders VALUES (1, '', 'done'), (2, '', 'done'), (3, '', 'done'), (4, '', 'done'), (5, 'Lou', 'done'), (6, 'Lou', 'done'), (7, 'lou', 'done');
