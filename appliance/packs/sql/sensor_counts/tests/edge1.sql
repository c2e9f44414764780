CREATE TABLE sensors (id INTEGER PRIMARY KEY, code TEXT NOT NULL);
CREATE TABLE readings (id INTEGER PRIMARY KEY, sensor_id INTEGER NOT NULL, value INTEGER);
INSERT INTO sensors VALUES (1, 'roof'), (2, 'roof'), (3, 'yard'), (4, 'attic');
INSERT INTO readings VALUES (1, 1, 0), (2, 1, 0), (3, 2, 5), (4, 9, 5), (5, 3, NULL), (6, 3, NULL), (7, 2, NULL);
