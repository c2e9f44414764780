CREATE TABLE reports (id INTEGER PRIMARY KEY, thermometer TEXT NOT NULL, minute INTEGER NOT NULL, tenths INTEGER, UNIQUE (thermometer, minute));
INSERT INTO reports VALUES (1, 'hall', 0, 200), (2, 'hall', 5, 230), (3, 'hall', 9, 220), (4, 'yard', 3, 100), (5, 'yard', 8, NULL), (6, 'yard', 9, 50);
