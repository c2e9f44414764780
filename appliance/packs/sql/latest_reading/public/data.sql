CREATE TABLE readings (id INTEGER PRIMARY KEY, meter TEXT NOT NULL, sent TEXT NOT NULL, value INTEGER);
INSERT INTO readings VALUES (1, 'gas', '2024-05-01 12:00', 40), (2, 'gas', '2024-05-01 13:00', 44), (3, 'power', '2024-05-01 11:00', 7);
