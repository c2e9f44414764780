CREATE TABLE sensors (id INTEGER PRIMARY KEY, code TEXT NOT NULL);
CREATE TABLE readings (id INTEGER PRIMARY KEY, sensor_id INTEGER NOT NULL, value INTEGER);
INSERT INTO sensors VALUES (1, 'roof'), (2, 'cellar'), (3, 'yard');
INSERT INTO readings VALUES (1, 1, 20), (2, 1, 21), (3, 2, NULL);
