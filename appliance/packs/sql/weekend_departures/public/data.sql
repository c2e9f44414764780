CREATE TABLE departures (id INTEGER PRIMARY KEY, line TEXT NOT NULL, leaves TEXT NOT NULL);
INSERT INTO departures VALUES (1, 'north', '2024-06-01 09:30'), (2, 'north', '2024-06-02 10:00'), (3, 'south', '2024-06-03 11:00'), (4, 'south', '2024-06-08 18:15');
