CREATE TABLE visitors (id INTEGER PRIMARY KEY, name TEXT NOT NULL, nickname TEXT);
INSERT INTO visitors VALUES (4, 'Ann', ''), (5, ' Bob ', '   '), (6, 'Cyd', 'C D'), (7, 'Dee', NULL), (8, 'Ann', ' x'), (9, 'Ann', 'NULL');
