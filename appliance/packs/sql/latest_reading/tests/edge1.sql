CREATE TABLE readings (id INTEGER PRIMARY KEY, meter TEXT NOT NULL, sent TEXT NOT NULL, value INTEGER);
INSERT INTO readings VALUES (9, 'gas', '2024-05-01 12:00', 40), (10, 'gas', '2024-05-01 12:00', 39), (11, 'gas', '2024-05-01 11:59', 99), (2, 'heat', '2024-05-02 00:00', NULL), (3, 'heat', '2024-05-01 23:59', 5), (5, 'water', '2023-05-01 00:00', 1), (4, 'water', '2023-05-01 00:00', 2);
