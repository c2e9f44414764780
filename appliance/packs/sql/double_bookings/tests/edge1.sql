CREATE TABLE bookings (id INTEGER PRIMARY KEY, room TEXT NOT NULL, starts INTEGER NOT NULL, ends INTEGER NOT NULL);
INSERT INTO bookings VALUES (5, 'red', 60, 120), (2, 'red', 120, 180), (3, 'red', 119, 121), (4, 'red', 0, 1000), (9, 'blue', 60, 120), (8, 'blue', 60, 120), (7, 'green', 60, 61), (6, 'green', 61, 62), (10, 'grey', 10, 50), (11, 'grey', 20, 30);
