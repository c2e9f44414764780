CREATE TABLE bookings (id INTEGER PRIMARY KEY, room TEXT NOT NULL, starts INTEGER NOT NULL, ends INTEGER NOT NULL);
INSERT INTO bookings VALUES (1, 'red', 600, 660), (2, 'red', 630, 700), (3, 'red', 700, 760), (4, 'blue', 600, 700);
