CREATE TABLE books (id INTEGER PRIMARY KEY, shelf TEXT NOT NULL);
CREATE TABLE loans (id INTEGER PRIMARY KEY, member TEXT NOT NULL, book_id INTEGER NOT NULL);
INSERT INTO books VALUES (1, 'art'), (2, 'art'), (3, 'sea');
INSERT INTO loans VALUES (1, 'Ann', 1), (2, 'Ann', 2), (3, 'Ben', 1), (4, 'Ben', 1), (5, 'Ben', 3);
