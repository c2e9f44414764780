CREATE TABLE loans (id INTEGER PRIMARY KEY, reader TEXT NOT NULL, book TEXT NOT NULL, due TEXT NOT NULL, returned TEXT);
INSERT INTO loans VALUES
  (1, 'ann', 'a', '2024-01-01', '2024-01-01'),
  (2, 'ann', 'b', '2024-01-02', '2024-01-05'),
  (3, 'zoe', 'a', '2024-07-01', NULL),
  (4, 'zoe', 'b', '2024-06-30', NULL),
  (5, 'zoe', 'c', '2024-06-29', '2024-06-28');
