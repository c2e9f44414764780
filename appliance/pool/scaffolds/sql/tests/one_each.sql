CREATE TABLE loans (id INTEGER PRIMARY KEY, reader TEXT NOT NULL, book TEXT NOT NULL, due TEXT NOT NULL, returned TEXT);
INSERT INTO loans VALUES
  (1, 'ann', 'a', '2024-01-01', NULL),
  (2, 'bo', 'b', '2024-01-02', NULL),
  (3, 'cy', 'c', '2024-01-03', '2024-01-02'),
  (4, 'dee', 'c', '2024-01-03', NULL),
  (5, 'dee', 'd', '2024-01-09', NULL),
  (6, 'Dee', 'e', '2024-01-01', NULL);
