CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT NOT NULL, tags TEXT);
CREATE TABLE readers (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO articles VALUES (1, 'Boats', 'red, big,old'), (2, 'Bread', NULL), (3, 'Cars', 'Red');
INSERT INTO readers VALUES (1, 'Ann');
