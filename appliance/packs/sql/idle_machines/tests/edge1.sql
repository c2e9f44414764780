CREATE TABLE machines (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE bookings (id INTEGER PRIMARY KEY, machine_id INTEGER, day TEXT NOT NULL);
INSERT INTO machines VALUES (1, 'lathe'), (2, 'lathe'), (3, 'saw'), (4, 'drill'), (5, 'mill'), (6, 'oven');
INSERT INTO bookings VALUES (1, NULL, '2024-03-04'), (2, 1, '2024-03-01'), (3, 2, '2024-02-29'), (4, 3, '2024-03-31'), (5, 4, '2024-04-01'), (6, 9, '2024-03-10'), (7, 5, '2023-03-10'), (8, 1, '2024-04-04');
