CREATE TABLE parcels (id INTEGER PRIMARY KEY, grams INTEGER);
INSERT INTO parcels VALUES (1, 500), (2, 501), (3, 500), (4, 500), (5, 2000), (6, 2001), (7, 2000), (8, 2000), (9, 2000), (10, NULL), (11, NULL);
