CREATE TABLE marks (id INTEGER PRIMARY KEY, pupil TEXT NOT NULL, subject TEXT NOT NULL, mark INTEGER);
INSERT INTO marks VALUES (1, 'Ann', 'art', 4), (2, 'Ann', 'art', 6), (3, 'Ann', 'math', 3), (4, 'Ben', 'music', 6), (5, 'Ben', 'sport', 2);
