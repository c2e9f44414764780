CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, state TEXT NOT NULL);
INSERT INTO orders VALUES (1, 'Ida', 'done'), (2, 'Ida', 'done'), (3, 'Ida', 'done'), (4, 'Jon', 'done'), (5, 'Jon', 'open'), (6, 'Jon', 'open');
