CREATE TABLE visitors (id INTEGER PRIMARY KEY, name TEXT NOT NULL, nickname TEXT);
INSERT INTO visitors VALUES (1, 'Marta Lind', 'Mo'), (2, 'Ove Berg', NULL), (3, 'Kim Ash', ' Ki ');
