CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT NOT NULL, tags TEXT);
CREATE TABLE readers (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO articles VALUES (7, 'A', ' a ,A,, b c ,a'), (3, 'A', ''), (4, 'B', ' , '), (5, 'C', ',x,'), (6, 'D', 'one two,two one');
INSERT INTO readers VALUES (1, 'Ann'), (2, NULL);
