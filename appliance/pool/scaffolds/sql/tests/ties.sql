CREATE TABLE loans (id INTEGER PRIMARY KEY, reader TEXT NOT NULL, book TEXT NOT NULL, due TEXT NOT NULL, returned TEXT);
INSERT INTO loans VALUES
  (1, 'zoe', 'a', '2024-01-01', NULL),
  (2, 'zoe', 'b', '2024-09-01', NULL),
  (3, 'ann', 'c', '2024-01-01', NULL),
  (4, 'ann', 'd', '2024-01-01', NULL),
  (5, 'ann', 'a', '2023-12-01', '2023-12-01'),
  (6, 'Bo', 'a', '2023-12-31', NULL),
  (7, 'Bo', 'a', '2024-12-31', NULL),
  (8, 'Bo', 'a', '2024-11-30', NULL);
