CREATE TABLE fresh (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, paid_on TEXT, state TEXT DEFAULT 'open' NOT NULL);
INSERT INTO fresh SELECT id, customer, paid_on, CASE WHEN paid_on IS NULL THEN 'open' ELSE 'paid' END FROM orders;
DROP TABLE orders;
ALTER TABLE fresh RENAME TO orders;
