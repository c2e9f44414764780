CREATE TABLE machines (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE bookings (id INTEGER PRIMARY KEY, machine_id INTEGER, day TEXT NOT NULL);
INSERT INTO machines VALUES (1, 'lathe'), (2, 'press'), (3, 'saw');
INSERT INTO bookings VALUES (1, 1, '2024-03-04'), (2, 2, '2024-02-11');
