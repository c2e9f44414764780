CREATE TABLE books (id INTEGER PRIMARY KEY, shelf TEXT NOT NULL);
CREATE TABLE loans (id INTEGER PRIMARY KEY, member TEXT NOT NULL, book_id INTEGER NOT NULL);
INSERT INTO books VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'b'), (5, 'b'), (6, 'c');
INSERT INTO loans VALUES (1, 'p', 1), (2, 'p', 2), (3, 'p', 3), (4, 'p', 4), (5, 'p', 4), (6, 'q', 4), (7, 'q', 5), (8, 'q', 5), (9, 'q', 9), (10, 'r', 1), (11, 'r', 1), (12, 'r', 1), (13, 's', 9), (14, 't', 1), (15, 't', 2), (16, 't', 4);
